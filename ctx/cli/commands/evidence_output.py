"""Output of answers by file with their evidence, as JSON and as text. docs/evidence.md has the fields."""

from __future__ import annotations

from typing import Any

from ctx.cli.commands.answer_output import message_of, tree_fields
from ctx.cli.commands.answer_text import closing_line
from ctx.cli.commands.printing import fields_of, path_fields, print_json, print_lines, shown_path
from ctx.ranking.query_terms import QueryTerm
from ctx.search.dependencies.types import Edge
from ctx.search.evidence.types import Explanation, FileAnswer, FileHit
from ctx.search.evidence.wording import described, explanation_in_words
from ctx.text.paths import citation
from ctx.types import Answer

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
            **fields_about(answer.about, len(answer.hits)),
        }
    )


def print_files(answer: FileAnswer, prefix: bytes) -> None:
    """Print files with their reasons."""
    lines = [answer.about.message, ""] if answer.about.message else []
    for hit in answer.hits:
        lines += [f"{shown_path(hit.path, prefix)}  {hit.score:.2f}", *described(hit), ""]
    print_lines([*lines, closing_line(answer.about, len(answer.hits))])


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
            **fields_about(explanation.about, 1),
        }
    )


def print_explanation(explanation: Explanation, prefix: bytes) -> None:
    """Print the reasons why a file is, or is not, selected for a task."""
    print(explanation_in_words(explanation, prefix))


def fields_about(answer: Answer, hits: int) -> dict[str, Any]:
    """Return the fields about an answer whose number of hits is `hits`."""
    message = message_of(answer, hits)
    return {"message": message, "rankedWith": list(answer.ranked_with), **tree_fields(answer)}


def term_object(term: QueryTerm) -> dict[str, Any]:
    """Return a query term as an object."""
    fields = {"term": term.term, "origin": term.origin, "source": term.source}
    return fields | {"weight": round(term.weight, 6)}


def hit_object(hit: FileHit) -> dict[str, Any]:
    """Return a file with its reasons as an object; lines count from 1, both ends included."""
    lines = {"first": "startLine", "last": "endLine"}
    excerpts = [
        fields_of(one, **lines) | {"citation": citation(hit.blob, one.first, one.last)}
        for one in hit.excerpts
    ]
    return {
        **path_fields("path", hit.path),
        **fields_of(hit, path="", left_out="excerptsLeftOut"),
        "contributions": dict(hit.contributions),
        "evidence": [dict(one) for one in hit.evidence],
        "symbols": [fields_of(one, **lines) for one in hit.symbols],
        "excerpts": excerpts,
    }


def edge_object(edge: Edge) -> dict[str, Any]:
    """Return an edge between two files as an object."""
    paths = path_fields("sourcePath", edge.source_path) | path_fields("targetPath", edge.target_path)
    return paths | {"relation": edge.relation, "symbol": edge.symbol, "line": edge.line}
