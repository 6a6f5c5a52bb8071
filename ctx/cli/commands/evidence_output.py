"""Answers with reasons, for programs and for eyes."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ctx.cli.commands.answer_output import tree_fields
from ctx.cli.commands.answer_text import closing_line
from ctx.cli.commands.json_output import path_fields, print_json
from ctx.cli.commands.paths import from_here, quoted
from ctx.ranking.query_terms import QueryTerm
from ctx.search.citations import SHORT, citation
from ctx.search.dependencies.values import Edge
from ctx.search.evidence.values import NOT_IN_TREE, SKIPPED, Explanation, FileAnswer, FileHit
from ctx.text.escaping import printable
from ctx.text.pluralize import counted

SCHEMA = 1
"""The version of these objects; it grows when a reader of the old ones would read new ones wrongly."""
_MOST_LISTED = 8


def print_json_files(answer: FileAnswer) -> None:
    """Print an answer by file as one object."""
    print_json(
        {
            "type": "file_search_result",
            "schema": SCHEMA,
            "query": answer.query,
            "queryTerms": [term_object(term) for term in answer.terms],
            "tokenizer": answer.tokenizer,
            "hits": [hit_object(hit) for hit in answer.hits],
            "message": answer.about.message,
            "rankedWith": list(answer.about.ranked_with),
            **tree_fields(answer.about),
        }
    )


def term_object(term: QueryTerm) -> dict[str, Any]:
    """A term of the query."""
    return {
        "term": term.term,
        "origin": term.origin,
        "source": term.source,
        "weight": round(term.weight, 6),
    }


def hit_object(hit: FileHit) -> dict[str, Any]:
    """A file with its reasons; lines count from 1, both ends included."""
    return {
        **path_fields("path", hit.path),
        "language": hit.language,
        "blob": hit.blob.hex(),
        "isTest": hit.is_test,
        "score": hit.score,
        "margin": hit.margin,
        "reasons": list(hit.reasons),
        "contributions": dict(hit.contributions),
        "evidence": [dict(one) for one in hit.evidence],
        "symbols": [
            {"symbol": one.symbol, "kind": one.kind, "startLine": one.first, "endLine": one.last}
            for one in hit.symbols
        ],
        "excerpts": [
            {
                "startLine": one.first,
                "endLine": one.last,
                "symbol": one.symbol,
                "citation": citation(hit.blob, one.first, one.last),
                "text": one.text,
            }
            for one in hit.excerpts
        ],
        "excerptsLeftOut": hit.left_out,
    }


def edge_object(edge: Edge) -> dict[str, Any]:
    """An edge between two files."""
    return {
        **path_fields("sourcePath", edge.source_path),
        **path_fields("targetPath", edge.target_path),
        "relation": edge.relation,
        "symbol": edge.symbol,
        "line": edge.line,
    }


def print_files(answer: FileAnswer, prefix: bytes) -> None:
    """Print files with their reasons."""
    lines = [f"{printable(answer.about.message)}", ""] if answer.about.message else []
    for hit in answer.hits:
        place = quoted(from_here(hit.path, prefix))
        lines += [f"{place}  {hit.score:.2f}", *described(hit), ""]
    sys.stdout.write("\n".join([*lines, closing_line(answer.about, len(answer.hits))]) + "\n")


def described(hit: FileHit) -> list[str]:
    """What speaks for a file, line by line, indented."""
    lines = [f"    {printable(reason)}" for reason in hit.reasons]
    if hit.contributions:
        lines.append(f"    {contributions_in_words(hit.contributions, hit.margin)}")
    for one in hit.excerpts:
        cited = citation(hit.blob, one.first, one.last, SHORT)
        lines.append(f"    {one.first}-{one.last}  {printable(one.symbol)}".rstrip() + f"  cite {cited}")
    return lines


def contributions_in_words(parts: Mapping[str, float], margin: float) -> str:
    """The parts of a score, the largest first, and their sum."""
    ordered = sorted(parts.items(), key=lambda one: (-abs(one[1]), one[0]))
    told = ", ".join(f"{name} {value:+.2f}" for name, value in ordered if abs(value) >= 0.005)
    return f"score {margin:.2f} = {told}"


def print_json_explanation(explanation: Explanation) -> None:
    """Print an explanation as one object."""
    hit = explanation.hit
    print_json(
        {
            "type": "explain_result",
            "schema": SCHEMA,
            **path_fields("path", explanation.path),
            "task": explanation.task,
            "queryTerms": [term_object(term) for term in explanation.terms],
            "indexing": {"status": explanation.indexing, "reason": explanation.reason},
            "selection": {"status": explanation.selection, "reason": explanation.selection_reason},
            "rank": explanation.rank,
            "rankedFiles": explanation.ranked,
            "file": hit and hit_object(hit),
            "uses": [edge_object(edge) for edge in explanation.uses],
            "usedBy": [edge_object(edge) for edge in explanation.used_by],
            "message": explanation.about.message,
            "rankedWith": list(explanation.about.ranked_with),
            **tree_fields(explanation.about),
        }
    )


def print_explanation(explanation: Explanation, prefix: bytes) -> None:
    """Print why a file is, or is not, part of what a task needs."""
    sys.stdout.write(explanation_in_words(explanation, prefix) + "\n")


def explanation_in_words(explanation: Explanation, prefix: bytes) -> str:
    """Why a file is, or is not, part of what a task needs, in lines."""
    lines = [f"{printable(explanation.about.message)}", ""] if explanation.about.message else []
    lines.append(quoted(from_here(explanation.path, prefix)))
    if explanation.indexing == NOT_IN_TREE:
        there = f": {explanation.reason}" if explanation.reason else ""
        lines.append(printable(f"    not in the tree of {explanation.about.revision}{there}"))
    elif explanation.indexing == SKIPPED:
        lines.append(f"    not indexed: {explanation.reason}")
    else:
        rank = f"rank {explanation.rank} of {explanation.ranked}" if explanation.rank else "no rank"
        lines += [
            f"    indexed, {rank}",
            f"    {explanation.selection or 'selection unknown'}: {explanation.selection_reason}",
        ]
    if explanation.hit is not None:
        lines += described(explanation.hit)
    lines += _edges("uses", explanation.uses, prefix, outgoing=True)
    lines += _edges("used by", explanation.used_by, prefix, outgoing=False)
    about = explanation.about
    commit = f" {about.commit.hex()[:12]}" if about.commit else ""
    parts = [f"{about.revision}{commit}", f"tree {about.tree.hex()[:12]} ({about.resolved_by})"]
    if about.ranked_with:
        parts.append(f"ranked with {', '.join(about.ranked_with)}")
    lines.append(printable(f"-- {'; '.join(parts)}"))
    return "\n".join(lines)


def _edges(title: str, edges: Sequence[Edge], prefix: bytes, *, outgoing: bool) -> list[str]:
    """Edges by file, a few of each."""
    files: dict[bytes, list[Edge]] = {}
    for edge in edges:
        files.setdefault(edge.target_path if outgoing else edge.source_path, []).append(edge)
    lines = []
    for path, own in list(files.items())[:_MOST_LISTED]:
        symbols = ", ".join(dict.fromkeys(edge.symbol for edge in own[:4]))
        more = f" and {len(own) - 4} more" if len(own) > 4 else ""
        lines.append(
            f"    {title} {quoted(from_here(path, prefix))}: {own[0].relation} {printable(symbols)}{more}"
        )
    if len(files) > _MOST_LISTED:
        lines.append(f"    {title} {counted(len(files) - _MOST_LISTED, 'more file')}")
    return lines
