"""Validation of the arguments that a model passes to a tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctx.agents.mcp.tools import Tool
from ctx.errors import UsageError


def checked(tool: Tool, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the validated arguments of a call. Raises UsageError with a message for the model."""
    given = given or {}
    unknown = [name for name in given if name not in tool.properties]
    if unknown:
        names = ", ".join(map(repr, unknown))
        raise UsageError(f"{tool.name} has no argument {names}; it has {', '.join(tool.properties)}")
    missing = [name for name in tool.required if given.get(name) in (None, "")]
    if missing:
        raise UsageError(f"{tool.name} needs {', '.join(missing)}")
    found: dict[str, Any] = {}
    for name, value in given.items():
        if value is None:
            continue
        schema = tool.properties[name]
        if schema["type"] == "string":
            if not isinstance(value, str):
                raise UsageError(f"{name} has to be a text")
            if not _is_plain(value):
                raise UsageError(f"{name} has an invalid character: NUL, or half of a surrogate pair")
            if value and value not in schema.get("enum", (value,)):
                raise UsageError(f"{name} has to be one of {', '.join(schema['enum'])}")
            if value:
                found[name] = value
        elif isinstance(value, bool) or not isinstance(value, int):
            raise UsageError(f"{name} has to be a whole number")
        else:
            least, most = schema["minimum"], schema.get("maximum", value)
            if not least <= value <= most:
                raise UsageError(f"{name} has to be {least} to {most}")
            found[name] = value
    return found


def _is_plain(text: str) -> bool:
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False
