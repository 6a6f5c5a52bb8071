"""Definitions of the tools for agents: names, descriptions and flat schemas. Runs nothing.

A description says when to use a tool and when not, because models choose by the description only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

LIMIT, LIMIT_MAX = 10, 100
HISTORY_LIMIT = 5
MAX_TOKENS = 2000
LEAST_TOKENS, MOST_TOKENS = 200, 100_000
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


_LIMIT = {
    "type": "integer",
    "minimum": 1,
    "maximum": LIMIT_MAX,
    "description": f"Maximum number of hits; {LIMIT} by default.",
}
_TOKENS = {
    "type": "integer",
    "minimum": LEAST_TOKENS,
    "maximum": MOST_TOKENS,
    "description": f"Maximum number of tokens in the whole answer; {MAX_TOKENS} by default.",
}
_PATHS = {
    "type": "string",
    "description": "Only files that this git pathspec matches, relative to the project's root: a directory "
    "(src/server), a pattern (*.kt), or :(glob)src/**/test/*.py. Leave it out for the whole project.",
}
_REVISION = {
    "type": "string",
    "description": "Search this commit, tag or branch. Leave it out for the files as they are now, "
    "uncommitted changes included.",
}

CODE_SEARCH = Tool(
    "code_search",
    "Search code by meaning",
    "Finds the functions, classes and sections that answer a question about this project, best first, with "
    "paths, line numbers and text. Use it first when you do not know where something is. Do not use it when "
    "you know the exact symbol or file (grep or read it), for git operations, or to build or run anything. "
    "One search with a clear question is better than many with single words; then read what was found.",
    {
        "text": {
            "type": "string",
            "description": "One clear intent in natural language, in English if you can. Good: 'where is an "
            "expired session renewed'. Bad: 'session', or several questions at once.",
        },
        "pathFilter": _PATHS,
        "limit": _LIMIT,
        "revision": _REVISION,
        "changedIn": {
            "type": "string",
            "description": "Only code that differs: main...HEAD for what this branch changed, A..B between "
            "two revisions, HEAD for what is not committed. Not together with revision.",
        },
        "maxTokens": _TOKENS,
    },
    ("text",),
)
FIND_RELATED = Tool(
    "find_related",
    "Find code like this code",
    "Finds code that is like the code at one place: copies, variants, the other implementations of an idea. "
    "Use it before you write something that may exist already, or change something that has siblings. It may "
    "answer with nothing. Do not use it to find callers: search their names.",
    {
        "place": {
            "type": "string",
            "description": "A path with a line, as code_search gives it (src/server.py:120), or a citation.",
        },
        "pathFilter": _PATHS,
        "limit": _LIMIT,
        "maxTokens": _TOKENS,
    },
    ("place",),
)
READ_LINES = Tool(
    "read_lines",
    "Read lines of a file",
    "Reads lines of one file of the project, or what a citation names, even if the file has changed since. "
    "Use it on what code_search found. It reads nothing outside the project.",
    {
        "path": {"type": "string", "description": "A path from the project's root. Or give citation."},
        "citation": {
            "type": "string",
            "description": "A citation as code_search gives it: <blob id>:<first line>-<last line>.",
        },
        "startLine": {
            "type": "integer",
            "minimum": 1,
            "description": "First line, counted from 1; 1 if left out.",
        },
        "endLine": {
            "type": "integer",
            "minimum": 1,
            "description": "Last line, included; the end if left out.",
        },
        "revision": _REVISION,
        "maxTokens": _TOKENS,
    },
    (),
)
HISTORY_SEARCH = Tool(
    "history_search",
    "Find the commits that did something",
    "Finds the commits that did something, by what they say and by what they changed, and shows those lines. "
    "Use it to learn why code is as it is, when a behaviour came or went, and how a bug of this kind was "
    "fixed before. Do not use it to find where code is now (code_search), or for the log or blame of a file "
    "that you know (git).",
    {
        "text": {
            "type": "string",
            "description": "One clear change in natural language, in English if you can. Good: 'stop "
            "renewing sessions that were revoked'. Bad: 'fix', or a commit id.",
        },
        "which": {
            "type": "string",
            "enum": ["best", "first", "last"],
            "description": "best (default): the commits that answer best. first: the earliest that added it. "
            "last: the last that removed it.",
        },
        "since": {
            "type": "string",
            "description": "Only commits after this date, as git reads it: 2024-05-01, '3 weeks ago'.",
        },
        "until": {"type": "string", "description": "Only commits before this date, as git reads it."},
        "author": {
            "type": "string",
            "description": "Only commits whose author matches this regular expression: a name or an address.",
        },
        "branch": {
            "type": "string",
            "description": "The history of this branch; the current one if left out.",
        },
        "revision": {
            "type": "string",
            "description": "The history of this commit or tag. Not together with branch.",
        },
        "pathFilter": _PATHS,
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": LIMIT_MAX,
            "description": f"Maximum number of commits; {HISTORY_LIMIT} by default, 1 with first and last.",
        },
        "maxTokens": _TOKENS,
    },
    ("text",),
)
EXPLAIN = Tool(
    "explain",
    "Say why a file is found or not",
    "Says of one file and one task whether the file is indexed, its score and the reasons for it, whether a "
    "pack for the task includes it, and which files use it or are used by it. Use it when a file that "
    "you expected is missing from an answer, or before you change a file that others use. Do not use it to "
    "find files (code_search) or to read one (read_lines).",
    {
        "task": {
            "type": "string",
            "description": "What is to be done, in sentences, as for pack; or a question that was searched.",
        },
        "path": {"type": "string", "description": "A path from the project's root."},
        "max_files": {
            "type": "integer",
            "minimum": 1,
            "maximum": 1_000,
            "description": "Maximum number of files of the pack; 40 by default.",
        },
    },
    ("task", "path"),
)
PACK = Tool(
    "pack",
    "Pack what a task needs",
    "Packs excerpts of many files for one task within a number of tokens: the code to change, what it uses, "
    "who calls it, its tests. Use it at the start of a task that touches several files, or to hand context "
    "to another agent; after edits, update sends only what has changed. Do not use it for a single question "
    "(code_search). The pack is kept in the git directory, never in the work tree.",
    {
        "task": {
            "type": "string",
            "description": "The whole task in sentences; files and functions that it names are honoured. May "
            "be left out with update.",
        },
        "budget_tokens": {
            "type": "integer",
            "minimum": 1,
            "maximum": 1_000_000,
            "description": "Maximum number of tokens in the text; 8,000 by default.",
        },
        "max_files": {
            "type": "integer",
            "minimum": 1,
            "maximum": 1_000,
            "description": "Maximum number of files; 40 by default.",
        },
        "tokenizer": {
            "type": "string",
            "enum": ["o200k_base", "cl100k_base"],
            "description": "Whose tokens are counted; o200k_base by default.",
        },
        "update": {
            "type": "string",
            "description": "A pack (slug, beginning of one, or latest): only what has changed since it was "
            "made. What is left out is as it was there.",
        },
    },
    (),
    is_read_only=False,
)
LIST_PACKS = Tool(
    "list_packs",
    "List the packs that are kept",
    "Lists the newest packs of this project, the newest first. Use it to find a pack that was made before.",
    {},
    (),
)
READ_PACK = Tool(
    "read_pack",
    "Read a pack",
    "Gives the text of a pack that is kept. Use it when another agent or an earlier session made the pack. "
    "It shows the files as they were then: pack with update returns what has changed since.",
    {
        "slug": {
            "type": "string",
            "description": "The slug of a pack, the beginning of one if no other begins so, or latest.",
        }
    },
    ("slug",),
)

TOOLS = {
    tool.name: tool
    for tool in (CODE_SEARCH, FIND_RELATED, READ_LINES, HISTORY_SEARCH, EXPLAIN, PACK, LIST_PACKS, READ_PACK)
}
MINIMAL = {CODE_SEARCH.name: CODE_SEARCH}
"""Tools for agents that read files and histories themselves: each definition costs tokens per session."""

_INSTRUCTIONS = (
    "git-ctx searches this project by meaning, exactly as its files are now. When you do not know where "
    "something is: code_search with one clear question, read what was found, narrow with pathFilter, stop. "
    "When you know the exact name or file, use grep or read instead."
)
_OF_HISTORY = " history_search finds the commits that did something."
_OF_PACKS = " pack collects what a task over several files needs."


def instructions(tools: Mapping[str, Tool]) -> str:
    """Return the instructions that a client passes to its model for a server with these tools."""
    more = {HISTORY_SEARCH.name: _OF_HISTORY, PACK.name: _OF_PACKS}
    return _INSTRUCTIONS + "".join(words for name, words in more.items() if name in tools)
