"""Published settings of well-known embedding models: prompts, dimensions, context lengths and prices.

Sources are the models' own pages. A preset is a set of defaults: every value can be overridden.
"""

from __future__ import annotations

from typing import NamedTuple

OPENAI, TEI, OLLAMA, JINA, VOYAGE = "openai", "tei", "ollama", "jina", "voyage"
COHERE, POINTWISE, LISTWISE = "cohere", "pointwise", "listwise"
CHAT = "/v1/chat/completions"
DIALECTS = {
    OPENAI: "/v1/embeddings",
    TEI: "/embed",
    OLLAMA: "/api/embed",
    JINA: "/v1/embeddings",
    VOYAGE: "/v1/embeddings",
}
"""Path of the embedding method in each dialect."""
RERANKER_DIALECTS = {COHERE: "/v1/rerank", TEI: "/rerank", POINTWISE: CHAT, LISTWISE: CHAT}
"""Path of the reranking method in each dialect."""

CODE_QUESTION = "Given a question about coding, retrieval code or passage that can solve user's question"
"""Query instruction of the Qwen3 models."""


class Preset(NamedTuple):
    """Defaults of one model. `context` in tokens; `price` in dollars for a million tokens, 0 if free.

    `instruction` wraps a query as `Instruct: …`, a line break, `Query: …`; prefixes are prepended unchanged;
    tasks are fields of the jina and voyage dialects.
    """

    model: str
    dialect: str = OPENAI
    dimensions: int = 0
    context: int = 8192
    instruction: str = ""
    query_prefix: str = ""
    document_prefix: str = ""
    query_task: str = ""
    document_task: str = ""
    price: float = 0.0


PRESETS = {
    # https://huggingface.co/Qwen/Qwen3-Embedding-4B
    "qwen3-embedding-4b": Preset(
        "Qwen/Qwen3-Embedding-4B", dimensions=2560, context=32768, instruction=CODE_QUESTION
    ),
    # https://huggingface.co/Qwen/Qwen3-Embedding-0.6B
    "qwen3-embedding-0.6b": Preset(
        "Qwen/Qwen3-Embedding-0.6B", dimensions=1024, context=32768, instruction=CODE_QUESTION
    ),
    # https://huggingface.co/nomic-ai/nomic-embed-code
    "nomic-embed-code": Preset(
        "nomic-ai/nomic-embed-code",
        dimensions=3584,
        context=32768,
        query_prefix="Represent this query for searching relevant code: ",
    ),
    # https://huggingface.co/jinaai/jina-code-embeddings-1.5b
    "jina-code": Preset(
        "jina-code-embeddings-1.5b",
        dialect=JINA,
        dimensions=1536,
        context=32768,
        query_task="nl2code.query",
        document_task="nl2code.passage",
    ),
    # https://platform.openai.com/docs/models/text-embedding-3-large
    "text-embedding-3-large": Preset("text-embedding-3-large", dimensions=3072, context=8191, price=0.13),
    # https://ai.google.dev/gemma/docs/embeddinggemma
    "embeddinggemma": Preset(
        "embeddinggemma",
        dialect=OLLAMA,
        dimensions=768,
        context=2048,
        query_prefix="task: code retrieval | query: ",
        document_prefix="title: none | text: ",
    ),
}
