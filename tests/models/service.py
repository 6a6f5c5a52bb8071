"""A service on loopback that speaks the dialects, records requests, and fails on demand.

Its vectors are sets of words hashed into a few dimensions: equal texts are equal, and texts that share
words are near. It stands for the wire; test_real_model.py has a real model behind it.
"""

from __future__ import annotations

import base64
import http.server
import json
import math
import re
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from zlib import crc32

DIMENSIONS = 64

Fault = Callable[["Handler"], bool]
"""Answer a request in another way; return False to have it answered as usual."""


def vector(text: str, width: int = DIMENSIONS) -> list[float]:
    """The vector of a text, of unit length."""
    found = [1e-3] * width
    for word in set(re.findall(r"[a-z]+", text.lower())):
        for salt in b"abc":
            value = crc32(word.encode() + bytes([salt]))
            found[value % width] += 1.0 if value & 1 << 16 else -1.0
    length = math.sqrt(sum(value * value for value in found))
    return [value / length for value in found]


class Handler(http.server.BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    server: Service

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.body = json.loads(body)
        with self.server.lock:
            self.server.requests.append((self.path, self.body, dict(self.headers)))
            number = len(self.server.requests)
            fault = self.server.faults.pop(number, None) or self.server.always
        if fault is not None and fault(self):
            return
        self.answer(200, self.server.reply(self.path, self.body))

    def answer(self, status: int, value: Any, **headers: str) -> None:
        """Send JSON, or bytes as they are."""
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, text in headers.items():
            self.send_header(name.replace("_", "-"), text)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


class Service(http.server.ThreadingHTTPServer):
    """The service; use it in a `with` block."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.requests: list[tuple[str, Any, dict[str, str]]] = []
        self.faults: dict[int, Fault] = {}
        """Faults by the number of the request, counted from 1."""
        self.always: Fault | None = None
        self.width = DIMENSIONS
        self.says = "1: 3\n2: 0"
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> Service:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.shutdown()
        self.thread.join()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that does not wait for the end of its answer."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def texts(self) -> list[str]:
        """Return every text that was sent to be embedded."""
        return [text for _, body, _ in self.requests for text in body.get("input", body.get("inputs", []))]

    def reply(self, path: str, body: Any) -> Any:
        """Return the answer of the service at that path."""
        if path == "/embed":
            return [vector(text, self.width) for text in body["inputs"]]
        if path == "/api/embed":
            return {"embeddings": [vector(text, self.width) for text in body["input"]]}
        if path.endswith("/embeddings"):
            rows: list[Any] = [vector(text, self.width) for text in body["input"]]
            if body.get("encoding_format") == "base64":
                rows = [base64.b64encode(struct.pack(f"<{len(row)}f", *row)).decode() for row in rows]
            data = [
                {"object": "embedding", "index": place, "embedding": row} for place, row in enumerate(rows)
            ]
            return {"object": "list", "data": data[::-1], "model": body["model"]}
        if path == "/rerank":
            return [{"index": place, "score": 0.5 + 0.01 * place} for place in range(len(body["texts"]))]
        if path.endswith("/rerank"):
            scores = [
                {"index": place, "relevance_score": 0.5 + 0.01 * place}
                for place in range(len(body["documents"]))
            ]
            return {"results": scores[::-1]}
        return {"choices": [{"message": {"role": "assistant", "content": self.says}}]}


def status(code: int, words: str = "no", **headers: str) -> Fault:
    """A fault that answers with a status."""

    def fail(request: Handler) -> bool:
        request.answer(code, {"error": {"message": words}}, **headers)
        return True

    return fail


def cut(request: Handler) -> bool:
    """The connection breaks in the middle of the answer."""
    data = json.dumps(request.server.reply(request.path, request.body)).encode()
    request.send_response(200)
    request.send_header("Content-Length", str(len(data)))
    request.end_headers()
    request.wfile.write(data[: len(data) // 2])
    return drop(request)


def hang(request: Handler) -> bool:
    """Accept the request and never answer."""
    request.server.ended.wait()
    return True


def trickle(request: Handler) -> bool:
    """Send the answer byte by byte, without an end."""
    request.send_response(200)
    request.send_header("Content-Length", str(1 << 20))
    request.end_headers()
    return _drip(request)


def trickle_headers(request: Handler) -> bool:
    """Send a header byte by byte, without an end."""
    request.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    return _drip(request)


def _drip(request: Handler) -> bool:
    with suppress(OSError):
        while not request.server.ended.wait(0.05):
            request.wfile.write(b" ")
            request.wfile.flush()
    request.close_connection = True
    return True


def drop(request: Handler) -> bool:
    """Close the connection without an answer."""
    request.wfile.flush()
    request.connection.shutdown(socket.SHUT_RDWR)
    request.close_connection = True
    return True


def slow(seconds: float) -> Fault:
    """A fault that answers late."""

    def wait(request: Handler) -> bool:
        time.sleep(seconds)
        return False

    return wait


def instead(value: Any) -> Fault:
    """A fault that answers with another body."""

    def other(request: Handler) -> bool:
        request.answer(200, value)
        return True

    return other


def embeddings(rows: list[list[float]]) -> Fault:
    """An answer of the openai dialect with these vectors."""
    data = [{"index": place, "embedding": row} for place, row in enumerate(rows)]
    return instead(json.dumps({"data": data}).encode())
