"""Answers about one tree: the choice of the format, JSON, and NUL-terminated fields. See docs/json.md."""

from __future__ import annotations

import sys
from typing import Any

from ctx.cli.commands import streams
from ctx.cli.commands.answer_text import left_out_in_words, print_plain, uncommitted_in_words
from ctx.cli.commands.printing import fields_of, path_fields, paths_fields, plain, print_json, revision_fields
from ctx.text.escaping import escape_control
from ctx.text.paths import citation, relative_path
from ctx.types import Answer, Hit, Submodule

SCHEMA = 1
"""Version of the answers of `--json`; raised by incompatible changes."""


def print_answer(
    kind: str,
    answer: Answer,
    query: str,
    prefix: bytes,
    *,
    form: str | None,
    with_text: bool,
    color: str,
    is_cut: bool = False,
) -> None:
    """Print an answer in the form that an option names: `--json`, `--json-output`, `-z`, or None for text.

    A text that `is_cut` has only the hits that are worth reading.
    """
    shown = answer.hits[: answer.worth_reading] if is_cut else answer.hits
    if form == "--json":
        print_json(envelope(kind, answer, [hit_object(hit, with_text) for hit in answer.hits]))
    elif form == "--json-output":
        print_json(published_object(answer, with_text))
    elif form == "-z":
        print_records(answer, prefix)
    elif streams.takes_colour(color, sys.stdout):
        from ctx.cli.commands.answer_terminal import print_coloured

        print_coloured(answer, shown, query, prefix, with_text=with_text)
    else:
        print_plain(answer, shown, query, prefix, with_text=with_text)


def envelope(kind: str, answer: Answer, hits: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Return an answer as an object with these hits, best first."""
    return {
        "type": kind,
        "schema": SCHEMA,
        **more,
        **tree_fields(answer),
        "submodules": [path_fields("path", one.path) | fields_of(one, path="") for one in answer.submodules],
        "comparison": comparison_object(answer),
        "message": message_of(answer, len(hits)),
        "rankedWith": list(answer.ranked_with),
        "furtherQueries": list(answer.further_queries),
        "confidence": answer.confidence and round(answer.confidence, 3),
        "worthReading": answer.worth_reading,
        "hits": hits,
    }


def hit_object(hit: Hit, with_text: bool) -> dict[str, Any]:
    """Return a hit as an object; paths are from the repository's root, lines count from 1, both included."""
    return {
        **path_fields("path", hit.path),
        "startLine": hit.position.start_line,
        "endLine": hit.position.end_line,
        "symbol": hit.symbol,
        "kind": hit.kind,
        "definition": definition_object(hit),
        "language": hit.language,
        "isTest": hit.is_test,
        "score": round(hit.score, 6),
        **shared_fields(hit),
        **({"text": hit.text} if with_text else {}),
    }


def definition_object(hit: Hit) -> dict[str, Any] | None:
    """Return the lines of the whole definition and its signature, null for other chunks."""
    if not hit.is_definition:
        return None
    first, last = hit.definition_lines
    line, text = hit.signature or (None, None)
    return {"startLine": first, "endLine": last, "signatureLine": line, "signature": text}


def shared_fields(hit: Hit) -> dict[str, Any]:
    """Return the fields of a hit that both formats have."""
    optional = {
        "change": hit.change and fields_of(hit.change, lines="changedLines"),
        "duplicate": hit.duplicate,
        "evolution": plain(hit.evolution),
        "tests": hit.tests and {**path_fields("path", hit.tests[0]), "symbol": hit.tests[1]},
    }
    return {
        "agreement": round(hit.agreement, 6),
        "blob": hit.blob,
        "citation": citation(hit.blob, hit.position.start_line, hit.position.end_line),
        **paths_fields("alsoAt", hit.also_at),
        **{name: value for name, value in optional.items() if value},
    }


def published_object(answer: Answer, with_text: bool) -> dict[str, Any]:
    """Return an answer in the published search schema, which does not change."""
    comparison = comparison_object(answer)
    return {
        "type": "search_result",
        "results": [published_hit(hit, with_text) for hit in answer.hits],
        "message": message_of(answer, len(answer.hits)),
        "rankedWith": list(answer.ranked_with),
        "furtherQueries": list(answer.further_queries),
        **tree_fields(answer),
        "submodules": [submodule_object(one) for one in answer.submodules],
        **({"comparison": comparison} if comparison else {}),
    }


def published_hit(hit: Hit, with_text: bool) -> dict[str, Any]:
    """Return a hit in the published search schema; offsets are bytes into the blob."""
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
        **({"content": hit.text} if with_text else {}),
        "contentStartLine": hit.position.start_line,
        "contentEndLine": hit.position.end_line,
        "symbol": hit.symbol,
        "kind": hit.kind,
        "isTestCase": hit.is_test,
        "language": hit.language,
        **shared_fields(hit),
    }


def submodule_object(one: Submodule) -> dict[str, Any]:
    """Return a submodule in the published schema; `problem` is null if it was searched."""
    return path_fields("relativePath", one.path) | fields_of(one, path="")


def tree_fields(answer: Answer) -> dict[str, Any]:
    """Return the fields about the tree that every answer has."""
    behind = answer.behind
    return {
        **revision_fields(answer.revision, answer.commit, answer.tree),
        "resolvedBy": answer.resolved_by,
        "coverage": plain(answer.coverage),
        "uncommitted": answer.uncommitted and fields_of(answer.uncommitted, changed="changedFiles"),
        "behind": behind and fields_of(behind) | {"ahead": None if behind.commits is None else behind.ahead},
    }


def comparison_object(answer: Answer) -> dict[str, Any] | None:
    """Return the other tree of a comparison and the numbers of differences, null without one."""
    other = answer.comparison
    if other is None:
        return None
    return fields_of(other, text="range") | revision_fields(other.revision, other.commit, other.tree)


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


def print_records(answer: Answer, prefix: bytes) -> None:
    """Print five NUL-terminated fields per hit: path, first line, last line, symbol, score (`xargs -0 -n 5`).

    A hit of a comparison has two more: its state, and the side that has these lines, new or old.
    """
    if answer.message:
        print(escape_control(answer.message), file=sys.stderr)
    for hit in answer.hits:
        change = (hit.change.state, hit.change.side) if hit.change is not None else ()
        fields = (
            relative_path(hit.path, prefix),
            str(hit.position.start_line),
            str(hit.position.end_line),
            hit.symbol.replace("\0", "\ufffd"),
            f"{hit.score:.4f}",
            *change,
        )
        sys.stdout.write("".join(field + "\0" for field in fields))
