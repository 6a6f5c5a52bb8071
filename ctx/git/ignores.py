"""A file in the syntax of gitignore(5); the tests compare it with `git check-ignore`."""

from __future__ import annotations

from ctx.git.rule_file import BYTE_ORDER_MARK, PathPattern, RuleFile


def parse_ignores(data: bytes) -> RuleFile[bool]:
    """Return the patterns of a file; True means ignored, False means excluded by `!`."""
    rules: list[tuple[PathPattern, bool]] = []
    for line in data.removeprefix(BYTE_ORDER_MARK).split(b"\n"):
        text = _without_trailing_spaces(line.removesuffix(b"\r"))
        if text and not text.startswith(b"#"):
            rules.append((PathPattern.parse(text.removeprefix(b"!")), not text.startswith(b"!")))
    return RuleFile(rules, lambda ignored: b"+" if ignored else b"-")


def _without_trailing_spaces(line: bytes) -> bytes:
    """Strip trailing spaces as git does: not after a backslash, and no other white space."""
    stripped = line.rstrip(b" ")
    backslashes = len(stripped) - len(stripped.rstrip(b"\\"))
    return line[: len(stripped) + 1] if backslashes % 2 else stripped
