"""Clients of reranking services, which score the text of each candidate for a query.

`cohere` is the API of Cohere, Jina, Voyage and vLLM, `tei` that of Hugging Face Text Embeddings Inference;
`pointwise` asks a chat model one yes-or-no question per candidate (as Qwen3-Reranker was trained), `listwise`
asks it once to grade all candidates from 0 to 3, and drops those with 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ctx.errors import Damaged, Decoding, ServiceFailed
from ctx.models.http import Service
from ctx.models.logistic import logistic
from ctx.models.presets import LISTWISE, POINTWISE, TEI
from ctx.models.settings import ServiceSettings

_CONCURRENCY = 8
_LONGEST = 4000
"""Maximum number of characters of a candidate that are sent."""
_LONGEST_QUERY = 500
"""Maximum number of characters of a proposed query."""
_JUDGE = (
    "Judge whether the Document meets the requirements based on the Query and the Instruct provided. "
    'Note that the answer can only be "yes" or "no".'
)
_INSTRUCTION = "Given a question about a code base, judge whether the code answers it"
_GRADES = (
    "You grade how well pieces of code answer a question about a code base. 3: it is what is asked for. "
    "2: a part of the answer. 1: about the same thing. 0: has nothing to do with it. Answer with one line "
    "for each piece and nothing else: its number, a colon, its grade."
)
_EXPANSION = (
    "You help to search a code base. Propose other ways to ask the question, in the words that the code "
    "itself would use. One a line, nothing else."
)
_GRADED = re.compile(r"^\D{0,4}(\d+)\D{1,3}([0-3])\s*$", re.MULTILINE)


def rerank(
    service: Service, settings: ServiceSettings, query: str, texts: Sequence[str]
) -> list[float | None]:
    """Return a score in 0..1 for each text, None for a text to drop.

    Raises `ServiceFailed`, also for an answer without a score for every text.
    """
    texts = [text[:_LONGEST] for text in texts]
    try:
        with Decoding("an answer"):
            if settings.dialect == POINTWISE:
                with ThreadPoolExecutor(min(_CONCURRENCY, len(texts) or 1)) as pool:
                    return list(pool.map(lambda text: _yes(service, settings, query, text), texts))
            if settings.dialect == LISTWISE:
                return _graded(service, settings, query, texts)
            return _scored(service, settings, query, texts)
    except Damaged as error:
        raise ServiceFailed(f"{service.url} did not answer as a reranker: {error}") from error


def _scored(service: Service, settings: ServiceSettings, query: str, texts: list[str]) -> list[float | None]:
    if settings.dialect == TEI:
        answer = service.post({"query": query, "texts": texts, "truncate": True}, len(texts) + 1)
        pairs = [(one["index"], one["score"]) for one in answer]
    else:
        body = {"model": settings.model, "query": query, "documents": texts, "top_n": len(texts)}
        answer = service.post(body, len(texts) + 1)
        pairs = [(one["index"], one["relevance_score"]) for one in answer["results"]]
    scores: list[float | None] = [None] * len(texts)
    for place, score in pairs:
        if not isinstance(place, int) or not 0 <= place < len(texts) or not math.isfinite(score):
            raise ValueError("a score for no text")
        scores[place] = float(score)
    if any(score is None for score in scores):
        raise ValueError("not every text has a score")
    if any(score is not None and not 0.0 <= score <= 1.0 for score in scores):
        # Some models return logits.
        scores = [logistic(score or 0.0) for score in scores]
    return scores


def _chat(
    service: Service, settings: ServiceSettings, system: str, user: str, texts: int, **options: Any
) -> dict[str, Any]:
    """Return the first choice of a chat model for a system and a user message with this many texts."""
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    body = {"model": settings.model, "messages": messages, "temperature": 0, **options}
    choice: dict[str, Any] = service.post(body, texts)["choices"][0]
    return choice


def _content(choice: dict[str, Any]) -> str:
    return str(choice["message"]["content"])


def _yes(service: Service, settings: ServiceSettings, query: str, text: str) -> float:
    user = f"<Instruct>: {_INSTRUCTION}\n\n<Query>: {query}\n\n<Document>: {text}"
    options = {"max_tokens": 1, "logprobs": True, "top_logprobs": 10}
    choice = _chat(service, settings, _JUDGE, user, 2, **options)
    listed: list[dict[str, Any]] = (choice.get("logprobs") or {}).get("content") or []
    shares = {"yes": 0.0, "no": 0.0}
    for one in listed[0]["top_logprobs"] if listed else []:
        word = str(one["token"]).strip().lower()
        if word in shares:
            shares[word] += math.exp(min(0.0, float(one["logprob"])))
    if not all(map(math.isfinite, shares.values())):
        raise ValueError("a probability that is no number")
    if not any(shares.values()):
        return 1.0 if _content(choice).strip().lower().startswith("yes") else 0.0
    return shares["yes"] / (shares["yes"] + shares["no"])


def _graded(service: Service, settings: ServiceSettings, query: str, texts: list[str]) -> list[float | None]:
    pieces = "\n\n".join(f"[{number}]\n{text}" for number, text in enumerate(texts, 1))
    user = f"Question: {query}\n\n{pieces}"
    answer = _content(_chat(service, settings, _GRADES, user, len(texts) + 1))
    grades = {int(number): int(grade) for number, grade in _GRADED.findall(answer)}
    if not grades:
        raise ValueError("no grades")
    # Equal grades keep their order.
    return [
        None if not grades.get(number, 1) else grades.get(number, 1) / 3 - 0.01 * number / len(texts)
        for number in range(1, len(texts) + 1)
    ]


def expand(service: Service, settings: ServiceSettings, query: str, texts: Sequence[str]) -> list[str]:
    """Return at most `settings.pool` further queries that a chat model proposes from the first hits.

    Raises `ServiceFailed`.
    """
    seen = "\n\n".join(text[:800] for text in texts)
    user = f"Question: {query}\n\nWhat was found first:\n\n{seen}"
    try:
        with Decoding("an answer"):
            answer = _content(_chat(service, settings, _EXPANSION, user, len(texts) + 1))
    except Damaged as error:
        raise ServiceFailed(f"{service.url} did not answer as a chat model: {error}") from error
    lines = [
        re.sub(r"^\s*(?:[-*•]|\d+[.)])\s*", "", line[:_LONGEST_QUERY]).strip().strip('"')
        for line in answer.splitlines()
    ]
    return [line for line in dict.fromkeys(lines) if line and line != query][: settings.pool]
