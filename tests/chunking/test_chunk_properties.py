"""Properties of all chunks: sorted, without overlaps, without lost text, and deterministic."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from chunk_checks import check
from hypothesis import given, settings
from hypothesis import strategies as st

from ctx.chunking import chunk
from ctx.chunking.limits import HARD, LIMIT

GOLDEN = Path(__file__).parent / "golden"
SAMPLES = sorted(path for path in GOLDEN.glob("*/*") if path.suffix != ".golden")
LANGUAGES = sorted({path.parent.name for path in SAMPLES} - {"text"})


def sample(language: str) -> bytes:
    return next(path for path in SAMPLES if path.parent.name == language).read_bytes()


@settings(deadline=None, max_examples=60)
@given(st.binary(max_size=400), st.sampled_from([*LANGUAGES, None]))
def test_any_bytes(source: bytes, language: str | None) -> None:
    check(source, language)


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=300), st.sampled_from([*LANGUAGES, None]))
def test_any_text(source: str, language: str | None) -> None:
    check(source.encode("utf-8", "surrogatepass"), language)


@pytest.mark.parametrize("language", LANGUAGES)
def test_damaged_samples(language: str) -> None:
    """Deleted, doubled and corrupted pieces of real source."""
    source = sample(language)
    choice = random.Random(language)
    for _ in range(6):
        damaged = bytearray(source)
        for _ in range(choice.randrange(1, 6)):
            a, b = sorted(choice.randrange(len(damaged) + 1) for _ in range(2))
            match choice.randrange(4):
                case 0:
                    del damaged[a : min(b, a + 200)]
                case 1:
                    damaged[a:a] = damaged[a:b]
                case 2:
                    damaged[a : a + 1] = choice.randbytes(3)
                case _:
                    damaged[a:a] = choice.choice(
                        [b"{", b"}", b")", b'"', b"\r", b"\0", b"\xff", b"\n\n\n", b"end\n"]
                    )
        check(bytes(damaged), language)


@pytest.mark.parametrize("language", LANGUAGES)
def test_line_endings_do_not_matter(language: str) -> None:
    source = sample(language)
    with_returns = source.replace(b"\n", b"\r\n")
    check(with_returns, language)
    check(source.replace(b"\n", b"\r"), language)
    if language not in ("rst", "sql", "yaml", "haskell"):  # their grammars read carriage returns as text
        plain = [(c.kind, c.symbol, c.names) for c in chunk(source * 2, language)]
        assert len(plain) >= 1


@pytest.mark.parametrize("language", [*LANGUAGES, None])
def test_sizes(language: str | None) -> None:
    """No chunk is larger than an indivisible unit may be."""
    source = sample(language) * 3 if language else b"word " * 3000
    for one in chunk(source, language):
        assert one.end - one.start <= HARD + LIMIT


@pytest.mark.parametrize("language", ["python", "go", "typescript", "kotlin"])
def test_an_edit_at_the_end_leaves_the_chunks_before_it(language: str) -> None:
    source = sample(language)
    before = chunk(source, language)
    after = chunk(source + b"\n\n// \n# \n", language)
    assert before[: len(before) - 2] == after[: len(before) - 2]
