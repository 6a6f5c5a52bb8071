"""The static embedding: the same bytes in every process, order, batch and number of threads."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ways import environment

from ctx.models.static_embedding import StaticEmbedding, sign_bits, static_embedding
from ctx.storage.vectors import DIMENSIONS, MODEL_ID
from ctx.text.vocabulary import Vocabulary

FILE_SHA256 = "c626940427138fc6259144ee3b8bd1e18eb1c707021c48db1cea864e168393ea"
GOLDEN = {
    "def renew_session(token): return store[token]": "7646f055843c1bd094953f0e720894e5",
    "Обновляет сессию пользователя": "de474fd99888288d585c3d4c1a10549e",
    "": "ffffffffffffffffffffffffffffffff",
}

TEXTS = st.lists(st.text("abcdefgXYZ_09 .\nеёсия文字", max_size=80), min_size=1, max_size=8)


def embed(texts: list[bytes]) -> np.ndarray:
    """Return the stored vectors of texts, embedded as one batch."""
    bounds, at = [], 0
    for text in texts:
        bounds.append((at, at + len(text)))
        at += len(text) + 1
    rows = Vocabulary(static_embedding().row).read(b"\n".join(texts), bounds).rows
    return static_embedding().embed_documents(rows, len(texts))


def document_rows(text: str) -> dict[int, int]:
    """Return the number of times that a document has each row of the table."""
    source = text.encode()
    rows = Vocabulary(static_embedding().row).read(source, [(0, len(source))]).rows
    return dict(zip(rows.word.tolist(), rows.times.tolist(), strict=True))


def test_the_model_file_matches_its_name() -> None:
    data = files("ctx.models").joinpath(f"{MODEL_ID}.bin").read_bytes()
    assert hashlib.sha256(data).hexdigest() == FILE_SHA256, "another table needs another MODEL_ID"


@pytest.mark.parametrize("text", GOLDEN)
def test_vectors_are_those_of_the_first_release(text: str) -> None:
    assert embed([text.encode()])[0].tobytes().hex() == GOLDEN[text]


@given(TEXTS)
def test_neither_batch_nor_order_matters(texts: list[str]) -> None:
    sources = [text.encode() for text in texts]
    order = np.random.default_rng(len(sources)).permutation(len(sources))
    together = embed(sources)
    assert (embed([sources[i] for i in order]) == together[order]).all()
    for source, vector in zip(sources, together, strict=True):
        assert (embed([source])[0] == vector).all()


@given(st.text(st.sampled_from("abcXYZ_09 .\n-"), max_size=80))
def test_a_text_by_itself_is_embedded_as_a_document_and_a_query_has_the_same_words(text: str) -> None:
    assert static_embedding().rows_of(text) == document_rows(text)
    assert (sign_bits(static_embedding().embed_text(text)) == embed([text.encode()])[0]).all()


@pytest.mark.parametrize(
    "text", ["обновляет сессию SessionStore", "期限切れ session", "crée la clé", "größe"]
)
def test_a_text_in_any_script_is_embedded_as_a_document(text: str) -> None:
    assert static_embedding().rows_of(text) == document_rows(text)
    assert (sign_bits(static_embedding().embed_text(text)) == embed([text.encode()])[0]).all()


@pytest.mark.parametrize(
    ("question", "english"),
    [
        ("dónde se actualizan las sesiones", "update sessions"),
        ("аутентификация пользователя", "user authentication"),
        ("データベース接続", "database connection"),
        ("验证密码", "validate password"),
        ("Datei löschen", "delete file"),
    ],
)
def test_words_of_other_languages_are_near_their_translations(question: str, english: str) -> None:
    others = ["parse the command line", "draw a window", "compress an image", "sort a list of numbers"]
    table = static_embedding()
    asked = table.embed_query(question)
    near = float(asked @ table.embed_query(english))
    assert near > 0.4
    assert all(near > float(asked @ table.embed_query(other)) + 0.2 for other in others)


def test_a_long_document_is_summed_in_blocks_without_a_difference() -> None:
    words = [f"{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}{chr(97 + i // 676)}xyz" for i in range(2000)]
    text = " ".join(words * 2)
    assert (sign_bits(static_embedding().embed_text(text)) == embed([text.encode()])[0]).all()
    backwards = " ".join(reversed(words * 2))
    assert (embed([text.encode()]) == embed([backwards.encode()])).all()


def test_queries_have_unit_length_or_none() -> None:
    vector = static_embedding().embed_query("renew a session")
    assert vector.shape == (DIMENSIONS,)
    assert vector.dtype == np.float32
    assert abs(float(np.linalg.norm(vector)) - 1.0) < 1e-6
    assert not static_embedding().embed_query("?!").any()
    assert not static_embedding().embed_query("").any()


PROGRAM = """
import sys, hashlib
from projects import project
from ctx.models.static_embedding import static_embedding
from ctx.text.vocabulary import Vocabulary
texts = [text.encode() for text in project(11, 40).values()]
step = int(sys.argv[1])
digest = hashlib.sha256()
vocabulary = Vocabulary(static_embedding().row)
for start in range(0, len(texts), step):
    batch = texts[start:start + step]
    bounds, at = [], 0
    for text in batch:
        bounds.append((at, at + len(text)))
        at += len(text) + 1
    rows = vocabulary.read(b"\\n".join(batch), bounds).rows
    digest.update(static_embedding().embed_documents(rows, len(batch)).tobytes())
digest.update(static_embedding().embed_query("renew the session of a user").tobytes())
print(digest.hexdigest())
"""


def test_processes_hash_seeds_and_threads_do_not_matter() -> None:
    seen = set()
    for seed, threads, step in (("0", "1", "1"), ("1", "2", "40"), ("77", "2", "7")):
        more = {
            "PYTHONHASHSEED": seed,
            "OPENBLAS_NUM_THREADS": threads,
            "OMP_NUM_THREADS": threads,
        }
        env = environment(more)
        env["PYTHONPATH"] += f":{Path(__file__).parents[1]}"
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, step], env=env, capture_output=True, text=True, check=True
        )
        seen.add(done.stdout)
    assert len(seen) == 1


def test_unit_vectors_are_the_same_in_whatever_order_threads_ask() -> None:
    table, words = StaticEmbedding(), np.arange(4000)
    chunks = [np.random.default_rng(seed).permutation(words)[:400] for seed in range(64)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(table.unit_vectors, chunks))
    alone = StaticEmbedding().unit_vectors(words)
    assert all((vectors == alone[rows]).all() for rows, vectors in zip(chunks, found, strict=True))
