"""git's settings as plain values, from one `git config --null --list`.

Names are compared as git does: section and variable without regard to case, the subsection exactly.
"""

from __future__ import annotations

import os
import re
from hashlib import blake2b

from ctx.errors import CtxError

_TRUE = ("true", "yes", "on")
_FALSE = ("false", "no", "off", "")


class Settings:
    """The values of every setting, in the order in which git reads them; the last one counts."""

    __slots__ = ("_values",)

    def __init__(self, values: dict[str, list[str | None]]) -> None:
        self._values = values

    @classmethod
    def parse(cls, listing: bytes) -> Settings:
        """Parse the output of `git config --null --list`; a name without a value has the value None."""
        values: dict[str, list[str | None]] = {}
        for entry in listing.split(b"\0")[:-1]:
            name, has_value, value = entry.partition(b"\n")
            values.setdefault(os.fsdecode(name), []).append(os.fsdecode(value) if has_value else None)
        return cls(values)

    def get(self, key: str) -> str | None:
        """Return the last value; "true" for a name without one, None if there is no such setting."""
        values = self._values.get(_canonical(key))
        if not values:
            return None
        return "true" if values[-1] is None else values[-1]

    @property
    def digest(self) -> bytes:
        """20 bytes that differ if any setting does."""
        return blake2b(repr(self._values).encode("utf-8", "surrogateescape"), digest_size=20).digest()

    def get_all(self, key: str) -> list[str]:
        """Return every value of a setting that may be given several times."""
        return ["true" if value is None else value for value in self._values.get(_canonical(key), [])]

    def get_bool(self, key: str, default: bool) -> bool:
        """Return the last value as a boolean by git's rules. Raises CtxError if it is not one."""
        value = self.get(key)
        if value is None:
            return default
        word = value.lower()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
        if re.fullmatch(r"[+-]?\d+[kmg]?", word):
            return int(word.rstrip("kmg")) != 0
        raise CtxError(
            f"the setting {key} is '{value}', neither true nor false; correct it with `git config {key}`"
        )

    def refuse_offline(self, what: str) -> None:
        """Raise CtxError if the user forbids any use of the network; `what` names the service."""
        if self.is_offline:
            raise CtxError(f"ctx.offline is set, so {what} is not asked: `git config --unset ctx.offline`")

    @property
    def is_offline(self) -> bool:
        """Return True if the user forbids any use of the network."""
        return self.get_bool("ctx.offline", False)

    @property
    def user_name(self) -> str:
        """Name of the user from `user.name`, else that of the account; "" if there is neither."""
        name = self.get("user.name")
        if name:
            return name
        import pwd

        try:
            return pwd.getpwuid(os.getuid()).pw_name
        except KeyError:
            return ""

    @property
    def remotes(self) -> list[str]:
        """Names of the configured remotes."""
        pattern = re.compile(r"remote\.(.+)\.(?:url|pushurl|fetch)", re.DOTALL)
        found = (pattern.fullmatch(name) for name in self._values)
        return list(dict.fromkeys(match[1] for match in found if match))

    def sections(self, section: str, key: str) -> list[tuple[str, str]]:
        """Return the names of all subsections of a section that have a key, each with its value."""
        start, end = f"{section}.", f".{key}"
        names = [name for name in self._values if name.startswith(start) and name.endswith(end)]
        found = [
            (name[len(start) : -len(end)], self.get(name)) for name in names if len(name) > len(start + end)
        ]
        return [(name, value) for name, value in found if value is not None]

    @property
    def is_partial_clone(self) -> bool:
        """Return True if objects that a remote has promised may be missing here."""
        return bool(self.promisors)

    @property
    def promisors(self) -> list[str]:
        """Remotes that have promised the objects that are missing here, in git's order."""
        remotes = [name for name, _ in self.sections("remote", "promisor")]
        found = [name for name in remotes if self.get_bool(f"remote.{name}.promisor", False)]
        # The remote named by the extension comes last, see "Partial Clone" in git's technical documentation.
        last = self.get("extensions.partialclone")
        return [name for name in found if name != last] + ([last] if last else [])


def _canonical(key: str) -> str:
    section, first, rest = key.partition(".")
    subsection, second, name = rest.rpartition(".")
    return f"{section.lower()}{first}{subsection}{second}{name.lower()}"
