"""Definitions of the tools for agents: names, descriptions and flat schemas; validation of arguments.

A description says when to use a tool and when not, because models choose by the description only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ctx.errors import UsageError

LIMIT, LIMIT_MAX = 10, 100
HISTORY_LIMIT = 5
MAX_TOKENS = 2000
LEAST_TOKENS, MOST_TOKENS = 200, 100_000
_OLD_NAMES = {"budget_tokens": "budgetTokens", "max_files": "maxFiles"}
"""Arguments of 0.1.0 and their names now; the old ones are accepted, but no longer described."""
SCHEME = "context://packs/"
"""URI prefix of packs as resources."""


class Tool(NamedTuple):
    """One tool; `properties` are those of its JSON schema: plain types, no unions."""

    name: str
    title: str
    description: str
    properties: dict[str, dict[str, Any]]
    required: tuple[str, ...]
    is_read_only: bool = True

    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of the arguments."""
        return {
            "type": "object",
            "properties": self.properties,
            "required": list(self.required),
            "additionalProperties": False,
        }


def _text(description: str, *choices: str) -> dict[str, Any]:
    return {"type": "string", "description": description} | ({"enum": [*choices]} if choices else {})


def _number(description: str, least: int = 1, most: int | None = None) -> dict[str, Any]:
    limits = {"minimum": least} if most is None else {"minimum": least, "maximum": most}
    return {"type": "integer", "description": description, **limits}


_LIMIT = _number(f"Maximum number of hits; {LIMIT} by default.", 1, LIMIT_MAX)
_TOKENS = _number(
    f"Maximum number of tokens in the whole answer; {MAX_TOKENS} by default.", LEAST_TOKENS, MOST_TOKENS
)
_PATHS = _text(
    "Only files that this git pathspec matches, relative to the project's root: a directory (src/server), a "
    "pattern (*.kt), or :(glob)src/**/test/*.py. Leave it out for the whole project."
)
_REVISION = _text(
    "Search this commit, tag or branch. Leave it out for the files as they are now, uncommitted changes "
    "included."
)

CODE_SEARCH = Tool(
    "code_search",
    "Search code by meaning",
    "Finds the functions, classes and sections that answer a question about this project, best first, with "
    "paths, line numbers and text. Use it first when you do not know where something is. Do not use it when "
    "you know the exact symbol or file (grep or read it), for git operations, or to build or run anything. "
    "One search with a clear question is better than many with single words; then read the results.",
    {
        "text": _text(
            "One clear intent in natural language, in English if you can. Good: 'where is an "
            "expired session renewed'. Bad: 'session', or several questions at once."
        ),
        "pathFilter": _PATHS,
        "limit": _LIMIT,
        "revision": _REVISION,
        "changedIn": _text(
            "Only code that differs: main...HEAD for what this branch changed, A..B between "
            "two revisions, HEAD for what is not committed. Not together with revision."
        ),
        "maxTokens": _TOKENS,
    },
    ("text",),
)
FIND_RELATED = Tool(
    "find_related",
    "Find similar code",
    "Finds code similar to the code at one place: copies, variants, other implementations of an idea. "
    "Use it before you write something that may exist already, or change code that has variants. It may find "
    "nothing. Do not use it to find callers: search for the name.",
    {
        "place": _text("A path and line as code_search returns them (src/server.py:120), or a citation."),
        "pathFilter": _PATHS,
        "limit": _LIMIT,
        "maxTokens": _TOKENS,
    },
    ("place",),
)
READ_LINES = Tool(
    "read_lines",
    "Read lines of a file",
    "Reads lines of one file of the project, or the lines of a citation, even if the file has changed since. "
    "Use it on the results of code_search. It reads nothing outside the project.",
    {
        "path": _text("Path from the project's root. Give path or citation."),
        "citation": _text("A citation as code_search returns it: <blob id>:<first line>-<last line>."),
        "startLine": _number("First line, counted from 1; 1 by default."),
        "endLine": _number("Last line, inclusive; the last of the file by default."),
        "revision": _REVISION,
        "maxTokens": _TOKENS,
    },
    (),
)
HISTORY_SEARCH = Tool(
    "history_search",
    "Find commits by what they changed",
    "Finds commits by their messages and by the lines that they changed, and shows those lines. Use it to "
    "learn why code is as it is, when a behaviour was added or removed, and how a bug of this kind was fixed "
    "before. Do not use it to find where code is now (code_search), or for the log or blame of a file that "
    "you know (git).",
    {
        "text": _text(
            "One clear change in natural language, in English if you can. Good: 'stop "
            "renewing sessions that were revoked'. Bad: 'fix', or a commit id."
        ),
        "which": _text(
            "best (default): the best matches. first: the earliest commit that added it. "
            "last: the latest commit that removed it.",
            "best",
            "first",
            "last",
        ),
        "since": _text("Only commits after this date, in git's formats: 2024-05-01, '3 weeks ago'."),
        "until": _text("Only commits before this date, in git's formats."),
        "author": _text("Only commits whose author matches this regular expression: a name or an address."),
        "branch": _text("The history of this branch; the current one by default."),
        "revision": _text("The history of this commit or tag. Not together with branch."),
        "pathFilter": _PATHS,
        "limit": _number(
            f"Maximum number of commits; {HISTORY_LIMIT} by default, 1 with first and last.", 1, LIMIT_MAX
        ),
        "maxTokens": _TOKENS,
    },
    ("text",),
)
EXPLAIN = Tool(
    "explain",
    "Explain why a file is found or not",
    "Reports for one file and one task whether the file is indexed, its score with reasons, whether a pack "
    "for the task includes it, which files use it and which it uses. Use it when a file that you expected is "
    "missing from an answer, or before you change a file that others use. Do not use it to find files "
    "(code_search) or to read one (read_lines).",
    {
        "task": _text("The task in sentences, as for pack; or the question of a search."),
        "path": _text("A path from the project's root."),
        "maxFiles": _number("Maximum number of files of the pack; 40 by default.", 1, 1_000),
    },
    ("task", "path"),
)
PACK = Tool(
    "pack",
    "Collect the code for a task",
    "Collects excerpts of many files for one task within a number of tokens: the code to change, the code "
    "that it uses, its callers and its tests. Use it at the start of a task that touches several files, or "
    "to pass context to another agent; after edits, update returns only the changes. Do not use it for a "
    "single question (code_search). The pack is stored in the git directory, never in the work tree.",
    {
        "task": _text(
            "The whole task in sentences; files and functions that it names come first. Optional with update."
        ),
        "budgetTokens": _number("Maximum number of tokens in the text; 8,000 by default.", 1, 1_000_000),
        "maxFiles": _number("Maximum number of files; 40 by default.", 1, 1_000),
        "tokenizer": _text(
            "Tokenizer that counts the tokens; o200k_base by default.", "o200k_base", "cl100k_base"
        ),
        "update": _text(
            "A pack (slug, unique prefix of one, or latest): return only the changes since it "
            "was made. Whatever is not mentioned is unchanged."
        ),
    },
    (),
    is_read_only=False,
)
LIST_PACKS = Tool(
    "list_packs",
    "List stored packs",
    "Lists the packs of this project, newest first. Use it to find a pack that was made before.",
    {},
    (),
)
READ_PACK = Tool(
    "read_pack",
    "Read a pack",
    "Returns the text of a stored pack. Use it when another agent or an earlier session made the pack. It "
    "shows the files as they were then: pack with update returns the changes since.",
    {"slug": _text("The slug of a pack, a unique prefix of one, or latest.")},
    ("slug",),
)

TOOLS = {
    tool.name: tool
    for tool in (CODE_SEARCH, FIND_RELATED, READ_LINES, HISTORY_SEARCH, EXPLAIN, PACK, LIST_PACKS, READ_PACK)
}
MINIMAL = {CODE_SEARCH.name: CODE_SEARCH}
"""Tools for agents that read files and histories themselves: each definition costs tokens per session."""


def instructions(tools: Mapping[str, Tool]) -> str:
    """Return the instructions that a client passes to its model for a server with these tools."""
    text = (
        "git-ctx searches this project by meaning, exactly as its files are now. When you do not know where "
        "something is: code_search with one clear question, read the results, narrow with pathFilter, stop. "
        "When you know the exact name or file, use grep or read instead."
    )
    if HISTORY_SEARCH.name in tools:
        text += " history_search finds commits by what they changed."
    if PACK.name in tools:
        text += " pack collects the code for a task over several files."
    return text


def check_arguments(tool: Tool, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the validated arguments of a call. Raises UsageError with a message for the model."""
    given = dict(given or {})
    for old, new in _OLD_NAMES.items():
        if old in given and new not in given and new in tool.properties:
            given[new] = given.pop(old)
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
