"""Manifests: encoding of packs as JSON, and decoding. docs/packs.md describes the fields.

A manifest may be of another version or damaged, so decoding validates it.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ctx.errors import CtxError, Damaged, Decoding
from ctx.pack.types import (
    ADDED,
    CHANGED,
    FORMATS,
    SCHEMA,
    UNCHANGED,
    Considered,
    Delta,
    Excerpt,
    Hint,
    Lines,
    Pack,
    PackedFile,
    PackOptions,
    RemovedFile,
    StaleCitation,
)
from ctx.ranking.query_terms import QueryTerm
from ctx.search.dependencies.types import Edge

T = TypeVar("T")


def encode(pack: Pack) -> bytes:
    """Return the manifest of a pack as bytes, deterministically."""
    return (json.dumps(manifest(pack), ensure_ascii=True, indent=1) + "\n").encode()


def manifest(pack: Pack) -> dict[str, Any]:
    """Return the manifest of a pack as plain values."""
    options = pack.options
    found: dict[str, Any] = {
        "schemaVersion": pack.schema,
        "excerptStrategy": pack.strategy,
        "slug": pack.slug,
        "task": pack.task,
        "revision": pack.commit or pack.tree,
        "revisionName": pack.revision,
        "commit": pack.commit,
        "tree": pack.tree,
        "budget": options.budget,
        "tokens": pack.tokens,
        "maxFiles": options.max_files,
        "tokenizer": options.tokenizer,
        "format": options.format,
        "options": {"revision": options.revision, "in": options.within},
        "hints": [hint._asdict() for hint in pack.hints],
        "queryTerms": [term._asdict() for term in pack.query_terms],
        "message": pack.message,
        "rankedWith": list(pack.ranked_with),
        "files": [_file(file) for file in pack.files],
        "considered": [_plain(one) for one in pack.considered],
        "dependencies": [_edge(edge) for edge in pack.edges],
    }
    if pack.delta is not None:
        found["parentPack"] = pack.delta.parent
        found["completeRefresh"] = pack.delta.complete
        found["changes"] = {
            **{
                state: [_text(file.path) for file in pack.files if file.state == state]
                for state in (ADDED, CHANGED, UNCHANGED)
            },
            "removed": [_plain(one) for one in pack.delta.removed],
        }
        found["staleReferences"] = [_edge(edge) for edge in pack.delta.lost]
        found["staleCitations"] = [_plain(one) for one in pack.delta.stale]
    return found


def _file(file: PackedFile) -> dict[str, Any]:
    source = None
    if file.blob is not None:
        source = {"blob": file.blob, **({"blake2b": file.digest} if file.digest else {})}
    return {
        **_path("path", file.path),
        "language": file.language,
        "state": file.state,
        "sourceHash": source,
        "score": file.score,
        "contributions": dict(file.contributions),
        "evidence": [dict(one) for one in file.evidence],
        "excerptRanges": [
            {"ranges": [_lines(one) for one in ranges], "symbol": symbol, "reason": why}
            for ranges, symbol, why in file.excerpts
        ],
        "excerptRange": None if file.best is None else _lines(file.best),
        "omissionReason": file.omission,
        "tokens": file.tokens,
    }


def _plain(value: Considered | RemovedFile | StaleCitation) -> dict[str, str]:
    """Return a value of a path and texts as an object."""
    return {**_path("path", value.path), **{k: v for k, v in value._asdict().items() if k != "path"}}


def _edge(edge: Edge) -> dict[str, Any]:
    return {
        **_path("sourcePath", edge.source_path),
        **_path("targetPath", edge.target_path),
        "relation": edge.relation,
        "symbol": edge.symbol,
        "line": edge.line,
    }


def _lines(lines: Lines) -> dict[str, int]:
    return {"startLine": lines.first, "endLine": lines.last}


def _text(path: str | bytes) -> str:
    return os.fsencode(path).decode("utf-8", "replace")


def _path(name: str, path: str | bytes) -> dict[str, str]:
    """Return a path as text and, if it is not UTF-8, also its bytes in base64."""
    octets, text = os.fsencode(path), _text(path)
    more = {} if text.encode() == octets else {f"{name}Bytes": base64.b64encode(octets).decode()}
    return {name: text, **more}


@Decoding("a manifest")
def decode(data: bytes) -> Pack:
    """Return the pack of a manifest. Raises `Damaged`, and CtxError for a later version."""
    value = json.loads(data)
    schema = value["schemaVersion"]
    if not isinstance(schema, int) or schema < 1:
        raise Damaged("a manifest does not say its version")
    if schema > SCHEMA:
        raise CtxError(
            f"the pack was made by a newer git-ctx (manifest version {schema}, this one reads {SCHEMA}): "
            "use that one, or pack again"
        )
    if value["format"] not in FORMATS:
        raise ValueError("format")
    options, strategy = value["options"], value.get("excerptStrategy")
    delta = None
    if value.get("parentPack") is not None:
        stale = value["staleReferences"]
        delta = Delta(
            _str(value["parentPack"]),
            tuple(_located(RemovedFile, one, "reason") for one in value["changes"]["removed"]),
            # 0.1.0 has citations where the edges are now.
            tuple(_located(StaleCitation, one, "citation") for one in value.get("staleCitations", stale)),
            value.get("completeRefresh"),
            tuple(_read_edge(one) for one in stale if "citation" not in one),
        )
    return Pack(
        _str(value["slug"]),
        _str(value["task"]),
        PackOptions(
            _int(value["budget"]),
            _int(value["maxFiles"]),
            _str(value["tokenizer"]),
            value["format"],
            options.get("revision"),
            options.get("in"),
        ),
        tuple(Hint(**one) for one in value["hints"]),
        tuple(QueryTerm(**one) for one in value.get("queryTerms", ())),
        _str(value.get("revisionName", value["revision"])),  # older manifests have the name in `revision`
        value.get("commit"),
        _str(value["tree"]),
        tuple(_read_file(one) for one in value["files"]),
        tuple(_located(Considered, one, "blob", "status") for one in value["considered"]),
        value.get("message"),
        _int(value["tokens"]),
        delta,
        schema,
        strategy if isinstance(strategy, int) else None,
        tuple(_str(one) for one in value.get("rankedWith", ())),
        tuple(_read_edge(one) for one in value.get("dependencies", ())),
    )


def _located(kind: Callable[..., T], value: Mapping[str, Any], *names: str) -> T:
    """Return a value of a path and texts."""
    return kind(os.fsdecode(_bytes("path", value)), *(_str(value[name]) for name in names))


def _read_file(value: Mapping[str, Any]) -> PackedFile:
    source = value.get("sourceHash") or {}
    best = value["excerptRange"]
    return PackedFile(
        os.fsdecode(_bytes("path", value)),
        value.get("language"),
        source.get("blob"),
        source.get("blake2b"),
        float(value["score"]),
        {_str(name): float(part) for name, part in value["contributions"].items()},
        tuple(dict(one) for one in value["evidence"]),
        tuple(
            Excerpt(
                tuple(_read_lines(lines) for lines in one["ranges"]), _str(one["symbol"]), _str(one["reason"])
            )
            for one in value["excerptRanges"]
        ),
        None if best is None else _read_lines(best),
        value.get("omissionReason"),
        _int(value.get("tokens", 0)),
        value.get("state"),
    )


def _read_edge(value: Mapping[str, Any]) -> Edge:
    return Edge(
        _bytes("sourcePath", value),
        _bytes("targetPath", value),
        _str(value["relation"]),
        _str(value["symbol"]),
        _int(value["line"]),
    )


def _read_lines(value: Mapping[str, Any]) -> Lines:
    return Lines(_int(value["startLine"]), _int(value["endLine"]))


def _bytes(name: str, value: Mapping[str, Any]) -> bytes:
    written = value.get(f"{name}Bytes")
    return _str(value[name]).encode() if written is None else base64.b64decode(written, validate=True)


def _str(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a text is missing")
    return value


def _int(value: Any) -> int:
    if not isinstance(value, int):
        raise TypeError("a number is missing")
    return value
