"""Requests to a model service over HTTP: time limits, retries, and size limits on answers.

A request has a minute from its first byte to the last byte of the answer. A transient failure (a lost
connection, 408, 425, 429, 5xx) is retried after each of `WAITS`, or after the delay that the server requests.
A rate limit delays every request of the process. Redirects are never followed: text and key are sent only to
the configured address.
"""

from __future__ import annotations

import copy
import email.utils
import json
import math
import os
import random
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ctx.errors import CtxError, Damaged, Decoding, ServiceFailed
from ctx.git.repository import Repository
from ctx.git.settings import Settings
from ctx.models import secrets
from ctx.models.addresses import is_loopback, refuse_clear_text
from ctx.models.ledger import Ledger, host_of

if TYPE_CHECKING:
    import ssl

    import httpx

TIMEOUT = 60.0
"""Timeout of one request in seconds, to the last byte of its answer."""
WAITS = (0.2, 0.4, 0.8, 1.6, 3.2, 6.4)
"""Seconds before each retry."""
_JITTER = 0.1
"""Maximum relative increase of each wait, so that clients do not retry all at once."""
_CONNECT = 20.0
_LONGEST_DELAY = 600.0
"""Maximum delay in seconds that a server may request."""
_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
_LARGEST_ANSWER = 256 << 20
_LARGEST_PER_TEXT = 1 << 20
"""Maximum bytes of an answer for each text of the request, and once more for the rest of it."""
_SHOWN = 300
"""Maximum number of characters of a service's message that are shown."""
_LENGTH_PHRASES = (
    "too long",
    "too large",
    "maximum context",
    "context length",
    "max_length",
    "too many tokens",
    "max batch",
    "batch size",
    "input length",
)
"""Parts of messages with which services reject the size of a request."""


class TooLarge(Exception):
    """The service rejected the size of a request; the caller sends less."""


class TooSlow(Exception):
    """The service did not answer a request of this size in time; the caller sends less."""


class _TimedOut(Exception):
    """An answer was not complete in time."""


class _Answer(NamedTuple):
    """A complete answer; the body is decompressed."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class TimeBudget:
    """Time limit in seconds of one search for all its requests to models together.

    Only time with at least one pending request counts. May be used by several threads.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._spent = 0.0
        self._pending = 0
        self._since = 0.0
        self._lock = threading.Lock()

    def left(self) -> float:
        """Return the remaining seconds, at or below 0 if the time is over."""
        with self._lock:
            running = time.monotonic() - self._since if self._pending else 0.0
            return self.seconds - self._spent - running

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the time of the block."""
        with self._lock:
            if not self._pending:
                self._since = time.monotonic()
            self._pending += 1
        try:
            yield
        finally:
            with self._lock:
                self._pending -= 1
                if not self._pending:
                    self._spent += time.monotonic() - self._since


ServiceType = TypeVar("ServiceType", bound="Service")


class Service:
    """Client of one address for one purpose; may be used by several threads at once."""

    def __init__(
        self,
        repository: Repository,
        ledger: Ledger,
        url: str,
        purpose: str,
        content: str,
        *,
        budget: TimeBudget | None = None,
        timeout: float = TIMEOUT,
        at_once: int = 64,
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        """Initialize; `content` describes the sent data for the user; `at_once` bounds concurrent requests.

        With a `budget` a user is waiting, and the service is optional: there is one retry, and all requests
        end when the time is over. Raises CtxError if the settings forbid sending to this address.
        """
        settings = repository.settings
        settings.refuse_offline(host_of(url))
        refuse_clear_text(url, settings)
        self.url = url
        self._purpose = purpose
        self._ledger = ledger
        self._timeout = timeout
        self._budget = budget or TimeBudget(math.inf)
        self._stopped = threading.Event()
        self._sleep = sleep or self._stopped.wait
        self._gate = threading.Lock()
        self._slots = threading.Semaphore(at_once)
        self._not_before = 0.0
        ledger.announce(url, purpose, content)
        self._client = _client(url, settings)
        self._key = cache(lambda: secrets.key_for(repository, purpose, url))

    def within(self: ServiceType, budget: TimeBudget) -> ServiceType:
        """Return the same service, with the same connections, for one search."""
        other = copy.copy(self)
        other._budget = budget
        return other

    def close(self) -> None:
        """Close the connections and write the ledger."""
        self._client.close()
        self.account()

    def stop(self) -> None:
        """Send no more requests: pending ones may end, and those that wait for a retry fail."""
        self._stopped.set()

    def account(self) -> None:
        """Write the ledger; keep the connections."""
        self._ledger.write()

    @property
    def is_optional(self) -> bool:
        """True if requests have a time budget, since a user is waiting."""
        return self._budget.seconds < math.inf

    def post(self, body: Any, texts: int, *, divisible: bool = False) -> Any:
        """Return the JSON answer to a JSON request; `texts` is the number of texts in the request.

        Raises `TooLarge`, `ServiceFailed` with the service's message, and `TooSlow` if `divisible`.
        """
        with self._budget.running():
            return self._post(body, texts, divisible)

    def _post(self, body: Any, texts: int, divisible: bool) -> Any:
        import httpx

        waits = WAITS[:1] if self.is_optional else WAITS
        failure, tries = "", 0
        for attempt in range(len(waits) + 1):
            self._wait_for_turn()
            if self._budget.left() <= 0:
                break
            tries += 1
            wait = backoff(attempt, random.random())
            try:
                answer = self._send(body, texts)
            except (_TimedOut, httpx.ReadTimeout) as error:
                failure = "no complete answer in time"
                if divisible:
                    raise TooSlow(failure) from error
            except httpx.TransportError as error:
                failure = _on_one_line(f"{type(error).__name__}: {error}")
            else:
                if answer.status == 200:
                    return _json(answer, self.url)
                message = _message(answer)
                if answer.status == 413 or (answer.status in (400, 422) and _is_length(message)):
                    raise TooLarge(message)
                failure = f"status {answer.status}: {message}"
                wait = _delay(answer) or wait
                if answer.status not in _TRANSIENT or wait > self._budget.left():
                    if answer.status in (401, 403):
                        variable = secrets.variable_for(self._purpose)
                        failure += f"; `git ctx model login --url {self.url}` sets the key, or {variable}"
                    elif answer.status in _TRANSIENT and wait > 1:
                        failure += f"; it requests a delay of {wait:,.0f} seconds"
                    raise ServiceFailed(f"{self.url} failed: {failure}")
                if answer.status == 429:
                    with self._gate:
                        self._not_before = max(self._not_before, time.monotonic() + wait)
            if attempt < len(waits):
                self._sleep(min(wait, max(self._budget.left(), 0.0)))
        if not tries:
            failure = "no request was sent, because the time for models was over (ctx.modelTimeout)"
        elif self._budget.left() <= 0:
            failure += f"; a search waits {self._budget.seconds:g} seconds (ctx.modelTimeout)"
        else:
            failure += f" ({tries} times)" if tries > 1 else " (once)"
        raise ServiceFailed(f"{self.url} failed: {failure}")

    def _send(self, body: Any, texts: int) -> _Answer:
        import httpx

        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        headers = {"Content-Type": "application/json", "Accept-Encoding": "gzip"}
        with self._gate:
            key = self._key()
        if key:
            headers["Authorization"] = f"Bearer {key}"
        most = min(_LARGEST_ANSWER, (texts + 1) * _LARGEST_PER_TEXT)
        with self._slots:
            if self._stopped.is_set():
                raise ServiceFailed(f"{self.url} got no more requests, because this run ends")
            limit = min(self._timeout, self._budget.left())
            if limit <= 0:
                raise _TimedOut
            end = time.monotonic() + limit
            times = httpx.Timeout(limit, connect=min(limit, _CONNECT))
            request = self._client.build_request(
                "POST", self.url, content=content, headers=headers, timeout=times
            )
            self._ledger.add(self.url, self._purpose, len(content), texts)
            exchange = _Exchange(self._client, request, most)
            exchange.start()
            # Release the slot once the server begins to answer.
            exchange.begun.wait(limit)
        return exchange.result(end - time.monotonic())

    def _wait_for_turn(self) -> None:
        with self._gate:
            wait = self._not_before - time.monotonic()
        if wait > 0:
            self._sleep(wait)


class _Exchange(threading.Thread):
    """One request in its own thread, because socket timeouts do not bound a whole answer.

    Name resolution has no timeout, and that for reading restarts with each byte. After the time limit the
    thread is abandoned: it ends with the next piece of the answer, or when the connection closes.
    """

    def __init__(self, client: httpx.Client, request: httpx.Request, most: int) -> None:
        """Initialize; `most` is the maximum size of the body in bytes, compressed and decompressed."""
        super().__init__(name="git-ctx request", daemon=True)
        self._client = client
        self._request = request
        self._most = most
        self._found: _Answer | BaseException = _TimedOut()
        self._is_abandoned = False
        self._done = threading.Event()
        self.begun = threading.Event()

    def run(self) -> None:
        try:
            response = self._client.send(self._request, stream=True)
            self.begun.set()
            try:
                content = b"".join(self._body(response))
            finally:
                response.close()
            self._found = _Answer(response.status_code, response.headers, content)
        except BaseException as error:
            # Raised again in the thread that waits.
            self._found = error
        finally:
            self.begun.set()
            self._done.set()

    def result(self, seconds: float) -> _Answer:
        """Return the answer. Raises `_TimedOut`, and errors of the thread."""
        if not self._done.wait(max(seconds, 0.0)):
            self._is_abandoned = True
            raise _TimedOut
        if isinstance(self._found, BaseException):
            raise self._found
        return self._found

    def _body(self, response: httpx.Response) -> Iterator[bytes]:
        """Yield the body in pieces, decompressed. Raises ServiceFailed for one that is too large."""
        encoding = response.headers.get("Content-Encoding", "").strip().lower()
        unpack = None
        if encoding in ("gzip", "x-gzip", "deflate"):
            unpack = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
        elif encoding not in ("", "identity"):
            raise ServiceFailed(f"{self._request.url} answered in an encoding that was not requested")
        received = size = 0
        for piece in response.iter_raw():
            if self._is_abandoned:
                raise _TimedOut
            received += len(piece)
            if unpack is not None:
                try:
                    piece = unpack.decompress(piece, self._most + 1 - size)
                except zlib.error as error:
                    raise ServiceFailed(f"{self._request.url} sent damaged gzip data: {error}") from error
            size += len(piece)
            if max(received, size) > self._most:
                raise ServiceFailed(f"{self._request.url} answered with more than {self._most:,} bytes")
            yield piece


def backoff(attempt: int, jitter: float) -> float:
    """Return the seconds to wait after a failed attempt, counted from 0; `jitter` is in 0..1."""
    return WAITS[min(attempt, len(WAITS) - 1)] * (1 + _JITTER * jitter)


def _client(url: str, settings: Settings) -> httpx.Client:
    """Return a client with the proxy and the certificates of git; TLS is always verified.

    Requests to this machine itself never use a proxy.
    """
    import ssl

    import httpx

    is_local = is_loopback(url)
    proxy = "" if is_local else settings.get("http.proxy") or ""
    if proxy and "://" not in proxy:
        proxy = f"http://{proxy}"
    certificates = settings.get("http.sslCAInfo")
    verify: ssl.SSLContext | bool = True
    try:
        if certificates:
            verify = ssl.create_default_context(cafile=os.path.expanduser(certificates))
        elif not url.startswith("https:") and not proxy.startswith("https:"):
            # Loading all certificates takes longer than a query; without https: none are needed.
            verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        # With its own transport a client ignores proxies in the environment.
        transport = httpx.HTTPTransport(verify=verify) if is_local else None
        return httpx.Client(proxy=proxy or None, verify=verify, transport=transport, follow_redirects=False)
    except (OSError, ValueError) as error:
        raise CtxError(f"{url} cannot be used: {error} (http.proxy, http.sslCAInfo)") from error


def _json(answer: _Answer, url: str) -> Any:
    try:
        with Decoding("an answer"):
            return json.loads(answer.content)
    except Damaged:
        raise ServiceFailed(
            f"{url} did not answer with JSON: is it the address of a model service?"
        ) from None


def _message(answer: _Answer) -> str:
    """Return the error message of a service, on one line of at most `_SHOWN` characters."""
    text = answer.content.decode("utf-8", "replace")
    with suppress(Damaged), Decoding("an answer"):
        found = json.loads(answer.content)
        error = found.get("error", found.get("detail", found)) if isinstance(found, dict) else found
        text = str(error.get("message", error) if isinstance(error, dict) else error)
    return _on_one_line(text) or "nothing more"


def _on_one_line(text: str) -> str:
    return " ".join(text[: 4 * _SHOWN].split())[:_SHOWN]


def _is_length(message: str) -> bool:
    return any(phrase in message.lower() for phrase in _LENGTH_PHRASES)


def _delay(answer: _Answer) -> float | None:
    """Return the delay in seconds that the server requests (RFC 9110, Retry-After), or None."""
    value = answer.headers.get("Retry-After", "").strip()
    try:
        wait = float(value)
    except ValueError:
        try:
            with Decoding("a time"):
                wait = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except Damaged:
            return None
    return None if math.isnan(wait) else min(max(wait, 0.0), _LONGEST_DELAY)
