"""Addresses of services: the path of a method, the origin, and the rule about unencrypted requests."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from ctx.errors import CtxError
from ctx.git.settings import Settings


def full_address(url: str, method: str) -> str:
    """Return `url` with the path of a method, unless `url` has it, or another path, already.

    `url` may be that of the server or of its API.
    """
    path = urlsplit(url).path.rstrip("/")
    if not path:
        return url + method
    if method.startswith(f"{path}/"):
        return url + method.removeprefix(path)
    return url


def origin(url: str) -> tuple[str, str, int]:
    """Return protocol, host and port of an address, normalized (RFC 6454). A key is bound to an origin.

    Returns ("", "", 0) if `url` is no address.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return "", "", 0
    return parts.scheme, (parts.hostname or "").removesuffix("."), port


def is_loopback(url: str) -> bool:
    """Return True if an address is of this machine itself: `localhost`, 127.0.0.0/8 or ::1."""
    _, host, _ = origin(url)
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def refuse_clear_text(url: str, settings: Settings) -> None:
    """Raise CtxError for an unencrypted address of another machine, unless `ctx.allowInsecure` is set."""
    scheme, _, _ = origin(url)
    if scheme == "https" or is_loopback(url) or settings.get_bool("ctx.allowInsecure", False):
        return
    raise CtxError(
        f"{url} is refused: it is another machine, and with http:// your text and keys would be sent "
        "unencrypted. Use https://, or permit it: `git config ctx.allowInsecure true`"
    )
