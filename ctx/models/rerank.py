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
from ctx.models.addresses import completed
from ctx.models.http import Service
from ctx.models.logistic import logistic
from ctx.models.settings import ServiceSettings

COHERE, TEI, POINTWISE, LISTWISE = "cohere", "tei", "pointwise", "listwise"
_PATHS = {
    COHERE: "/v1/rerank",
    TEI: "/rerank",
    POINTWISE: "/v1/chat/completions",
    LISTWISE: "/v1/chat/completions",
}
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


def full_address(url: str, dialect: str) -> str:
    """Return the address of the reranking method; `url` may be that of the server or of its API."""
    return completed(url, _PATHS[dialect])


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


def _yes(service: Service, settings: ServiceSettings, query: str, text: str) -> float:
    user = f"<Instruct>: {_INSTRUCTION}\n\n<Query>: {query}\n\n<Document>: {text}"
    body = {
        "model": settings.model,
        "messages": [{"role": "system", "content": _JUDGE}, {"role": "user", "content": user}],
        "max_tokens": 1,
        "temperature": 0,
        "logprobs": True,
        "top_logprobs": 10,
    }
    choice = service.post(body, 2)["choices"][0]
    listed: list[dict[str, Any]] = (choice.get("logprobs") or {}).get("content") or []
    said = {"yes": 0.0, "no": 0.0}
    for one in listed[0]["top_logprobs"] if listed else []:
        word = str(one["token"]).strip().lower()
        if word in said:
            said[word] += math.exp(min(0.0, float(one["logprob"])))
    if not all(map(math.isfinite, said.values())):
        raise ValueError("a probability that is no number")
    if not any(said.values()):
        word = str(choice["message"]["content"]).strip().lower()
        return 1.0 if word.startswith("yes") else 0.0
    return said["yes"] / (said["yes"] + said["no"])


def _graded(service: Service, settings: ServiceSettings, query: str, texts: list[str]) -> list[float | None]:
    pieces = "\n\n".join(f"[{number}]\n{text}" for number, text in enumerate(texts, 1))
    body = {
        "model": settings.model,
        "messages": [
            {"role": "system", "content": _GRADES},
            {"role": "user", "content": f"Question: {query}\n\n{pieces}"},
        ],
        "temperature": 0,
    }
    answer = str(service.post(body, len(texts) + 1)["choices"][0]["message"]["content"])
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
    body = {
        "model": settings.model,
        "messages": [
            {
                "role": "system",
                "content": _EXPANSION,
            },
            {"role": "user", "content": f"Question: {query}\n\nWhat was found first:\n\n{seen}"},
        ],
        "temperature": 0,
    }
    try:
        with Decoding("an answer"):
            said = str(service.post(body, len(texts) + 1)["choices"][0]["message"]["content"])
    except Damaged as error:
        raise ServiceFailed(f"{service.url} did not answer as a chat model: {error}") from error
    lines = [
        re.sub(r"^\s*(?:[-*•]|\d+[.)])\s*", "", line[:_LONGEST_QUERY]).strip().strip('"')
        for line in said.splitlines()
    ]
    return [line for line in dict.fromkeys(lines) if line and line != query][: settings.pool]
