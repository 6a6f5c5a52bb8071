"""`git ctx login`: store the key of a service with git's credential helpers."""

from __future__ import annotations

import sys

import click

from ctx.cli.commands import options
from ctx.errors import CtxError


@click.command(short_help="Keep the key of a remote model with git's credential helpers.")
@click.option("--url", metavar="URL", help="The service; ctx.embedder.url without it.")
@options.root
def command(url: str | None) -> int:
    """Ask for the key of a service, or read it from stdin, and hand it to git's credential helpers.

    git-ctx itself does not store it. On machines without a helper, set GIT_CTX_API_KEY.
    """
    import ctx
    from ctx.models import secrets

    with ctx.open(".") as index:
        service = service_of(index.repository.settings, url)
        if sys.stdin.isatty():
            key = click.prompt(f"Key for {service}", hide_input=True, err=True)
        else:
            key = sys.stdin.readline().strip()
        if not key:
            raise CtxError("no key was given, so nothing was kept")
        secrets.remember(index.repository, service, key)
    click.echo(f"the key for {service} is with git's credential helper")
    return 0


def service_of(settings: object, url: str | None) -> str:
    """Return the address of the service that a key is for. Raises UsageError."""
    from ctx.errors import UsageError
    from ctx.git.settings import Settings
    from ctx.models.settings import address

    assert isinstance(settings, Settings)
    found = url or settings.get("ctx.embedder.url") or settings.get("ctx.reranker.url")
    if not found:
        raise UsageError("which service? Give --url, or set ctx.embedder.url")
    return address(found)
