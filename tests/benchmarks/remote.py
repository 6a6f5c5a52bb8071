"""Measure the overhead of model services: throughput, memory, a query, a crash.

    python tests/benchmarks/remote.py throughput CHECKOUT [--latency 0.2]  against a loop of full batches
    python tests/benchmarks/remote.py memory CHECKOUT [--latency 0.05]  peak while a large project is embedded
    python tests/benchmarks/remote.py query CHECKOUT [--latency 0.05]  what a search takes beyond the server
    python tests/benchmarks/remote.py crash CHECKOUT [--latency 0.05]  what a killed run has embedded twice
    python tests/benchmarks/remote.py dead CHECKOUT  a search whose embedder does not answer
    python tests/benchmarks/remote.py compare  a query against 100,000 stored vectors

A local server in a separate process answers each request after a fixed time with arbitrary vectors, any
number of requests at once. It distinguishes texts by their hashes.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import http.server
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import ctx
from ctx.models.precision import encode_vectors, similarities

DIMENSIONS, BATCH, CONCURRENCY = 1024, 32, 4
PROGRAM = [sys.executable, "-m", "ctx"]
ROWS = np.random.default_rng(3).standard_normal((512, DIMENSIONS)).astype("<f4")
VECTORS = [base64.b64encode(row.tobytes()).decode() for row in ROWS]


class Handler(http.server.BaseHTTPRequestHandler):
    """One request: vectors for texts, or with GET the counters."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    latency = 0.0
    way = "answer"
    lock = threading.Lock()
    texts = 0
    distinct: set[bytes] = set()  # noqa: RUF012  one server a process

    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        time.sleep(self.latency)
        if self.way != "answer":
            self.misbehave()
            return
        hashes = [hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts]
        with self.lock:
            Handler.texts += len(texts)
            self.distinct.update(hashes)
        chosen = (VECTORS[int.from_bytes(one, "little") % len(VECTORS)] for one in hashes)
        rows = (f'{{"index":{place},"embedding":"{vector}"}}' for place, vector in enumerate(chosen))
        self.answer(f'{{"data":[{",".join(rows)}]}}')

    def misbehave(self) -> None:
        """Never answer, answer byte by byte, or with vectors of another dimension."""
        if self.way == "lie":
            self.answer('{"data":[{"index":0,"embedding":[1.0,2.0]}]}')
            return
        if self.way == "trickle":
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.end_headers()
        with suppress(OSError):
            while True:
                time.sleep(0.1)
                if self.way == "trickle":
                    self.wfile.write(b" ")

    def do_GET(self) -> None:
        with self.lock:
            self.answer(json.dumps({"texts": self.texts, "distinct": len(self.distinct)}))

    def answer(self, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def server(latency: float, way: str = "answer") -> Iterator[str]:
    """The address of a server that answers each request in this way after `seconds`."""
    words = [sys.executable, __file__, "serve", "--latency", str(latency), "--way", way]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.terminate()


def serve(latency: float, way: str) -> None:
    Handler.latency, Handler.way = latency, way
    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(running.server_port, flush=True)
    running.serve_forever()


def counted(url: str) -> dict[str, int]:
    """The counters of the server."""
    with urllib.request.urlopen(url) as answer:
        found: dict[str, int] = json.load(answer)
    return found


@contextmanager
def project(checkout: Path, url: str) -> Iterator[Path]:
    """A clone indexed with the shipped model and configured to use the server."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch, "clone")
        subprocess.run(
            ["git", "-c", "advice.detachedHead=false", "clone", "--quiet", str(checkout), str(place)],
            check=True,
        )
        os.environ["XDG_STATE_HOME"] = scratch
        subprocess.run([*PROGRAM, "index", "--silent"], cwd=place, check=True)
        values = {"url": url, "model": "bench", "dimensions": DIMENSIONS, "concurrency": CONCURRENCY}
        for name, value in values.items():
            subprocess.run(["git", "config", f"ctx.embedder.{name}", str(value)], cwd=place, check=True)
        yield place


def post(client: Any, url: str, texts: list[str]) -> bool:
    """Send one plain request, and return True if it is answered."""
    body = {"model": "bench", "input": texts, "encoding_format": "base64"}
    return bool(client.post(f"{url}/v1/embeddings", json=body).raise_for_status().json())


def throughput(checkout: Path, latency: float) -> None:
    """Texts per second of indexing, and of a loop that only sends requests."""
    import httpx

    with server(latency) as url, project(checkout, url) as place:
        before, cpu = time.monotonic(), time.process_time()
        with ctx.open(place) as index:
            report = index.index().remote
        took, cpu = time.monotonic() - before, time.process_time() - cpu
        assert report is not None
        batches = [["def f(value):\n    return value\n" * 20] * BATCH] * -(-report.embedded // BATCH)
        before = time.monotonic()
        with httpx.Client() as client, ThreadPoolExecutor(CONCURRENCY) as pool:
            list(pool.map(lambda batch: post(client, url, batch), batches))
        plain = time.monotonic() - before
        ours, ceiling = report.embedded / took, len(batches) * BATCH / plain
        print(
            f"{report.embedded:,} texts embedded, {report.reused:,} reused; {latency} s a request, "
            f"{CONCURRENCY} at once: {ours:,.0f} texts a second, a plain loop {ceiling:,.0f}: "
            f"{100 * ours / ceiling:.1f}%; processor {cpu:.1f} s"
        )


def memory(checkout: Path, latency: float) -> None:
    """Peak memory of the embedding process."""
    with server(latency) as url, project(checkout, url) as place:
        process = subprocess.Popen([*PROGRAM, "index", "--silent"], cwd=place)
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0
        print(f"{counted(url)['texts']:,} texts embedded; peak {usage.ru_maxrss / 1024:.0f} MB")


def query(checkout: Path, latency: float) -> None:
    """Time a search in a long-running process against a plain request with the same text."""
    import httpx

    asked = "where is the session of a user renewed"
    with server(latency) as url, project(checkout, url) as place, ctx.open(place) as index:
        index.index()
        subprocess.run(["git", "config", "--unset", "ctx.embedder.url"], cwd=place, check=True)
        ours, plain, local = [], [], []
        with httpx.Client() as client, ctx.open(place) as other:
            for _ in range(40):
                ours.append(timed(lambda: index.search(asked).ranked_with == ("bench",)))
                plain.append(timed(lambda: post(client, url, [asked])))
                local.append(timed(lambda: other.search(asked).ranked_with == ()))
    for name, which in (("clock", 0), ("processor", 1)):
        of_each = [[one[which] for one in each[5:]] for each in (ours, plain, local)]
        middle = [statistics.median(each) for each in of_each]
        added = middle[0] - middle[2] - (middle[1] if which == 0 else 0.0)
        print(
            f"{name}, medians: search {middle[0]:.1f} ms, plain request {middle[1]:.1f}, search without a "
            f"remote model {middle[2]:.1f}: added {added:.1f} ms"
        )


def timed(call: Callable[[], bool]) -> tuple[float, float]:
    """Wall-clock and processor milliseconds of a call, which must return True."""
    clock, cpu = time.perf_counter(), time.process_time()
    assert call()
    return 1000 * (time.perf_counter() - clock), 1000 * (time.process_time() - cpu)


def crash(checkout: Path, latency: float) -> None:
    """End the run at half of the texts in each way, run it again, and count texts sent twice."""
    for way in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        with server(latency) as url, project(checkout, url) as place:
            with ctx.open(place) as index:
                record = index.session.snapshots.covered(index.resolve().tree)
                assert record is not None
                half = record.totals.chunks // 2
            process = subprocess.Popen([*PROGRAM, "index", "--silent"], cwd=place)
            while (at := counted(url)["texts"]) < half:
                assert process.poll() is None
                time.sleep(0.02)
            process.send_signal(way)
            process.wait()
            subprocess.run([*PROGRAM, "index", "--silent"], cwd=place, check=True)
            found = counted(url)
            twice = found["texts"] - found["distinct"]
            print(
                f"{way.name} after {at:,} texts, status {process.returncode}: {found['distinct']:,} distinct "
                f"ones in the end, {twice:,} sent twice (the second probe included; up to "
                f"{BATCH * CONCURRENCY} were under way)"
            )


def dead(checkout: Path, latency: float) -> None:
    """Seconds of a whole search process, with a working embedder and with ones that do not answer."""
    with server(latency) as url, project(checkout, url) as place:
        subprocess.run([*PROGRAM, "index", "--silent"], cwd=place, check=True)
        for way in ("answer", "hang", "refuse", "trickle", "lie"):
            with server(latency, way) as other:
                # Nothing listens on the discard port.
                asked = "http://127.0.0.1:9" if way == "refuse" else other
                subprocess.run(["git", "config", "ctx.embedder.queryUrl", asked], cwd=place, check=True)
                took = sorted(whole_search(place, way == "answer") for _ in range(5))
                print(f"{way}: {took[2]:.2f} s (from {took[0]:.2f} to {took[-1]:.2f})")


def compare() -> None:
    """Memory and time to compare a query with 100,000 stored vectors of 1,024 dimensions."""
    lengths = np.linalg.norm(ROWS, axis=1, keepdims=True)
    for kind in ("bit", "int8", "f16", "f32"):
        stored = np.tile(encode_vectors(ROWS / lengths, kind), (196, 1))[:100_000]
        query = (ROWS / lengths)[3]
        tracemalloc.start()
        similarities(stored, query, kind)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        took = [timed(partial(compared, stored, query, kind))[0] for _ in range(9)]
        print(f"{kind}: {statistics.median(took):.0f} ms, {peak / 1e6:.1f} MB")


def compared(stored: Any, query: Any, kind: str) -> bool:
    return bool(similarities(stored, query, kind).any())


def whole_search(place: Path, is_healthy: bool) -> float:
    """Seconds until a search process answers, with or without the model."""
    before = time.perf_counter()
    words = [*PROGRAM, "search", "--json-output", "where is the session of a user renewed"]
    done = subprocess.run(words, cwd=place, capture_output=True, check=True)
    took = time.perf_counter() - before
    answer = json.loads(done.stdout)
    assert bool(answer["rankedWith"]) == is_healthy
    assert is_healthy or "the embedded model answered" in answer["message"]
    assert answer["results"]
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "figure", choices=("throughput", "memory", "query", "crash", "dead", "compare", "serve")
    )
    parser.add_argument("checkout", type=Path, nargs="?")
    parser.add_argument("--latency", type=float)
    parser.add_argument("--way", default="answer")
    options = parser.parse_args()
    os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[2])
    os.environ["NO_PROXY"] = "127.0.0.1"
    latency = options.latency or {"throughput": 0.2}.get(options.figure, 0.05)
    if options.figure == "serve":
        serve(latency, options.way)
        return
    if options.figure == "compare":
        compare()
        return
    if options.checkout is None:
        parser.error("name a checkout")
    globals()[options.figure](options.checkout.resolve(), latency)


if __name__ == "__main__":
    main()
