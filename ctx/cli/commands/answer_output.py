"""Answers for programs: JSON, or NUL-terminated fields. For text output see ctx.cli.commands.answer_text."""

from __future__ import annotations

import sys
from typing import Any

from ctx.cli.commands.answer_text import TextOf, left_out_in_words, uncommitted_in_words
from ctx.cli.commands.change_output import change_object, comparison_object, evolution_object
from ctx.cli.commands.printing import path_fields, paths_fields, print_json, revision_fields
from ctx.search.citations import citation
from ctx.text.escaping import escape_control
from ctx.text.paths import from_here
from ctx.types import Answer, Behind, Coverage, Hit, Submodule, Uncommitted


def print_json_answer(answer: Answer, text_of: TextOf | None) -> None:
    """Print the whole answer as one object, without `content` if `text_of` is None."""
    print_json(
        {
            "type": "search_result",
            "results": [hit_object(hit, text_of) for hit in answer.hits],
            "message": message_of(answer, len(answer.hits)),
            "rankedWith": list(answer.ranked_with),
            "furtherQueries": list(answer.further_queries),
            **tree_fields(answer),
            "submodules": [submodule_object(one) for one in answer.submodules],
            **({"comparison": comparison_object(answer.comparison)} if answer.comparison else {}),
        }
    )


def tree_fields(answer: Answer) -> dict[str, Any]:
    """Return the fields about the tree that every answer has."""
    return {
        **revision_fields(answer.revision, answer.commit, answer.tree),
        "resolvedBy": answer.resolved_by,
        "coverage": coverage_object(answer.coverage),
        "uncommitted": uncommitted_object(answer.uncommitted),
        "behind": behind_object(answer.behind),
    }


def message_of(answer: Answer, hits: int) -> str | None:
    """Return the message for an answer with `hits` hits, None if there is none.

    It joins the message of the answer, a note if nothing was found, and notes on uncommitted changes.
    """
    parts = [answer.message]
    if not hits and not answer.message:
        parts.append(f"nothing in {answer.revision} answers this")
    if (uncommitted := answer.uncommitted) is not None:
        if uncommitted.changed:
            parts.append(f"{answer.revision} {uncommitted_in_words(uncommitted)}")
        if uncommitted.left_out:
            parts.append(left_out_in_words(uncommitted))
    return "; ".join(filter(None, parts)) or None


def submodule_object(one: Submodule) -> dict[str, Any]:
    """Return a submodule as an object; `problem` is null, and `commit` and `tree` set, if it was searched."""
    return {
        **path_fields("relativePath", one.path),
        "pinned": one.pinned.hex(),
        "commit": one.commit.hex() if one.commit else None,
        "tree": one.tree.hex() if one.tree else None,
        "problem": one.problem,
    }


def hit_object(hit: Hit, text_of: TextOf | None) -> dict[str, Any]:
    """Return a hit as an object; paths are from the repository's root, offsets are bytes into the blob."""
    content = {} if text_of is None else {"content": text_of(hit)}
    return {
        "result": {
            "scoredText": {"similarity": round(hit.score, 6)},
            "sourcePosition": {
                **path_fields("relativePath", hit.path),
                "startOffset": hit.position.start,
                "endOffset": hit.position.end,
            },
            "indexItemType": "CHUNKS",
        },
        **content,
        "contentStartLine": hit.position.start_line,
        "contentEndLine": hit.position.end_line,
        "symbol": hit.symbol,
        "kind": hit.kind,
        "isTestCase": hit.is_test,
        "language": hit.language,
        "agreement": round(hit.agreement, 6),
        "blob": hit.blob.hex(),
        "citation": citation(hit.blob, hit.position.start_line, hit.position.end_line),
        **paths_fields("alsoAt", hit.also_at),
        **change_object(hit),
        **evolution_object(hit),
        **({"duplicate": hit.duplicate} if hit.duplicate else {}),
    }


def uncommitted_object(uncommitted: Uncommitted | None) -> dict[str, Any] | None:
    """Return the uncommitted changes in an answer, null if only committed content was searched."""
    return uncommitted and {
        "changedFiles": uncommitted.changed,
        "leftOut": uncommitted.left_out,
        "state": uncommitted.state,
    }


def behind_object(behind: Behind | None) -> dict[str, Any] | None:
    """Return the distance to the indexed tree, null if the requested tree itself is indexed."""
    return behind and {
        "tree": behind.tree.hex(),
        "commit": behind.commit.hex() if behind.commit else None,
        "commits": behind.commits,
        "ahead": None if behind.commits is None else behind.ahead,
        "files": behind.files,
    }


def coverage_object(coverage: Coverage) -> dict[str, Any]:
    """Return how much of the tree the answer covers."""
    return {
        "complete": coverage.complete,
        "files": coverage.files,
        "chunks": coverage.chunks,
        "skipped": coverage.skipped,
        "scanned": coverage.scanned,
        "uncovered": coverage.uncovered,
        "withoutWords": coverage.without_words,
    }


def print_records(answer: Answer, prefix: bytes) -> None:
    """Print five NUL-terminated fields per hit: path, first line, last line, symbol, score (`xargs -0 -n 5`).

    A hit of a comparison has two more: its state, and the side that has these lines, new or old.
    """
    if answer.message:
        print(escape_control(answer.message), file=sys.stderr)
    for hit in answer.hits:
        change = (hit.change.state, hit.change.side) if hit.change is not None else ()
        fields = (
            from_here(hit.path, prefix).decode("utf-8", "surrogateescape"),
            str(hit.position.start_line),
            str(hit.position.end_line),
            hit.symbol.replace("\0", "\ufffd"),
            f"{hit.score:.4f}",
            *change,
        )
        sys.stdout.write("".join(field + "\0" for field in fields))
