"""Client messages on stdin.

The SDK drops requests that it cannot parse; this module answers them with errors. The error codes are those
of JSON-RPC 2.0, section 5.1.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, BinaryIO

import anyio
import mcp_types as types

Refuse = Callable[[types.JSONRPCError], Awaitable[None]]

_ID = re.compile(rb'"id"\s*:\s*(-?\d{1,18}|"(?:[^"\\]|\\.)*")\s*[,}]')
_HALF = re.compile(r"[\ud800-\udfff]")
_LONGEST_INTEGER = 4_000
"""Maximum digits of an integer, below Python's limit for conversion; longer ones become floats."""


def take_stdin() -> BinaryIO:
    """Return stdin, and replace descriptor 0 by the null device so that children cannot read messages."""
    private = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    # A thread may still wait for this descriptor when the server ends.
    return os.fdopen(private, "rb", closefd=False)


async def messages(stdin: BinaryIO, refuse: Refuse) -> AsyncIterator[str]:
    """Yield the lines that are valid messages; call `refuse` with an error for invalid requests."""
    async for line in anyio.wrap_file(stdin):
        text = line.decode("utf-8", "replace")
        if not text.strip():
            continue
        error = problem(text)
        if error is None:
            yield text
        elif not isinstance(error, str):
            await refuse(error)


def problem(text: str) -> types.JSONRPCError | str | None:
    """Return the error to answer a line with, None for a valid line, "" for an invalid one to ignore."""
    message = None
    try:
        message = types.jsonrpc_message_adapter.validate_json(text, by_name=False)
        if not isinstance(message, types.JSONRPCNotification):
            return None
    except ValueError:
        pass
    try:
        value = json.loads(text, parse_int=_integer)
    except (ValueError, RecursionError) as error:
        found = _ID.findall(text.encode("utf-8", "replace"))
        given = json.loads(found[0]) if len(found) == 1 else None
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        return _error(given, types.PARSE_ERROR, f"the message is not JSON: {why}")
    if not isinstance(value, dict):
        return _error(None, types.INVALID_REQUEST, "a message has to be one JSON object, not a batch")
    given = value.get("id")
    if "id" in value and (isinstance(given, bool) or not isinstance(given, (int, str))):
        return _error(None, types.INVALID_REQUEST, "id has to be a text or a whole number")
    if message is not None:
        return None
    if "id" not in value or "result" in value or "error" in value:
        return ""
    if isinstance(given, str) and _HALF.search(given):
        return _error(None, types.INVALID_REQUEST, "id has half of a surrogate pair")
    if value.get("jsonrpc") != "2.0" or not isinstance(value.get("method"), str):
        return _error(given, types.INVALID_REQUEST, 'a request needs "jsonrpc": "2.0" and a method')
    return _error(given, types.INVALID_PARAMS, f"params cannot be read: {_why(value, text)}")


def _why(value: dict[str, Any], text: str) -> str:
    if not isinstance(value.get("params", {}), dict):
        return "they have to be an object"
    if _HALF.search(json.dumps(value, ensure_ascii=False)):
        return "a string has half of a surrogate pair, such as \\ud800"
    try:
        types.jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValueError as error:
        lines = str(error).splitlines()
        return lines[1].strip() if len(lines) > 1 else lines[0]
    return "they are invalid"


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) < _LONGEST_INTEGER else float(digits)


def _error(given: int | str | None, code: int, words: str) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=given, error=types.ErrorData(code=code, message=words))
