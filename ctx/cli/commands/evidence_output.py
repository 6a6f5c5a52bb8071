"""Output of answers with reasons, as JSON and as text."""

from __future__ import annotations

import sys
from typing import Any

from ctx.cli.commands.answer_output import message_of, tree_fields
from ctx.cli.commands.answer_text import closing_line
from ctx.cli.commands.printing import path_fields, print_json
from ctx.ranking.query_terms import QueryTerm
from ctx.search.citations import citation
from ctx.search.dependencies.types import Edge
from ctx.search.evidence.types import Explanation, FileAnswer, FileHit
from ctx.search.evidence.wording import described, explanation_in_words
from ctx.text.escaping import escape_control
from ctx.text.paths import from_here, quoted

SCHEMA = 1
"""Version of these objects; raised by incompatible changes."""


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
            "message": message_of(answer.about, len(answer.hits)),
            "rankedWith": list(answer.about.ranked_with),
            **tree_fields(answer.about),
        }
    )


def term_object(term: QueryTerm) -> dict[str, Any]:
    """Return a query term as an object."""
    return {
        "term": term.term,
        "origin": term.origin,
        "source": term.source,
        "weight": round(term.weight, 6),
    }


def hit_object(hit: FileHit) -> dict[str, Any]:
    """Return a file with its reasons as an object; lines count from 1, both ends included."""
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
    """Return an edge between two files as an object."""
    return {
        **path_fields("sourcePath", edge.source_path),
        **path_fields("targetPath", edge.target_path),
        "relation": edge.relation,
        "symbol": edge.symbol,
        "line": edge.line,
    }


def print_files(answer: FileAnswer, prefix: bytes) -> None:
    """Print files with their reasons."""
    lines = [f"{escape_control(answer.about.message)}", ""] if answer.about.message else []
    for hit in answer.hits:
        place = quoted(from_here(hit.path, prefix))
        lines += [f"{place}  {hit.score:.2f}", *described(hit), ""]
    sys.stdout.write("\n".join([*lines, closing_line(answer.about, len(answer.hits))]) + "\n")


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
            "message": message_of(explanation.about, 1),
            "rankedWith": list(explanation.about.ranked_with),
            **tree_fields(explanation.about),
        }
    )


def print_explanation(explanation: Explanation, prefix: bytes) -> None:
    """Print the reasons why a file is, or is not, selected for a task."""
    sys.stdout.write(explanation_in_words(explanation, prefix) + "\n")
