"""Asking a service over HTTP, again where that helps, and never anything that the user did not configure.

Time-outs of a minute; what is worth another try (a lost connection, 408, 429, 5xx) gets six in all, 0.2 to
6.4 seconds apart with jitter, or as long as the server asks for. A rate limit makes every request of the
process wait.
"""

from __future__ import annotations

import email.utils
import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ctx.errors import CtxError, ServiceFailed
from ctx.git.settings import Settings
from ctx.models import secrets
from ctx.models.ledger import Ledger, host_of

if TYPE_CHECKING:
    import ssl

    import httpx

TIMEOUT = 60.0
"""Seconds for a connection, and between two pieces of an answer."""
ATTEMPTS = 6
_FIRST_WAIT, _LONGEST_WAIT = 0.2, 6.4
_LONGEST_ASKED = 600.0
"""Seconds that a server may ask us to wait at most."""
IMPATIENT: dict[str, Any] = {"timeout": 20.0, "attempts": 2, "longest_wait": 5.0}
"""For what somebody waits for at this moment, and can be answered without: seconds, and tries in all."""
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_LARGEST_ANSWER = 256 << 20


class TooLarge(Exception):
    """The service will not take so much in one request; the caller sends less."""


class TooSlow(Exception):
    """The service has not answered in time for so much in one request; the caller sends less."""


class Silent(ServiceFailed):
    """The service has not answered at all, however often it was asked."""


class Service:
    """One address with one purpose; may be used by several threads at once."""

    def __init__(
        self,
        url: str,
        purpose: str,
        what: str,
        directory: str,
        settings: Settings,
        ledger: Ledger,
        *,
        timeout: float = TIMEOUT,
        attempts: int = ATTEMPTS,
        longest_wait: float = _LONGEST_ASKED,
        at_once: int = 64,
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        """`what` says what is sent, in a few words for people; `at_once` bounds the requests under way.

        A server that asks to wait longer than `longest_wait` seconds has failed.
        """
        settings.refuse_offline(host_of(url))
        self.url = url
        self._purpose = purpose
        self._ledger = ledger
        self._timeout = timeout
        self._attempts = attempts
        self._longest_wait = longest_wait
        self._stopped = threading.Event()
        self._sleep = sleep or self._stopped.wait
        self._gate = threading.Lock()
        self._slots = threading.Semaphore(at_once)
        self._not_before = 0.0
        self._directory = directory
        ledger.announce(url, purpose, what)
        self._client = _client(url, settings, timeout)
        self._key: str | bool | None = False

    def close(self) -> None:
        """Close the connections and write down what was sent."""
        self._client.close()
        self.account()

    def stop(self) -> None:
        """Send nothing more: what is under way may end, and what waits for another try has failed."""
        self._stopped.set()

    def account(self) -> None:
        """Write down what was sent."""
        self._ledger.write()

    def post(self, body: Any, texts: int, *, divisible: bool = False) -> Any:
        """The JSON answer to a JSON request; `texts` is how many texts it holds, for the ledger.

        Raises `TooLarge`, and `ServiceFailed` with the service's own words; `TooSlow` for what is divisible.
        """
        import httpx

        failure, silent = "", True
        for attempt in range(self._attempts):
            self._wait_for_turn()
            try:
                response = self._send(body, texts)
                silent = False
            except httpx.ReadTimeout as error:
                failure = f"no answer within {self._timeout:,.0f} seconds"
                if divisible:
                    raise TooSlow(failure) from error
                wait = _backoff(attempt)
            except httpx.TransportError as error:
                failure = f"{type(error).__name__}: {error}"
                wait = _backoff(attempt)
            else:
                if response.status_code == 200:
                    return _json(response, self.url)
                said = _words(response)
                if response.status_code == 413 or (response.status_code in (400, 422) and _is_length(said)):
                    raise TooLarge(said)
                failure = f"status {response.status_code}: {said}"
                if response.status_code not in _AGAIN:
                    raise ServiceFailed(self._failed(failure, response.status_code))
                wait = _asked(response) or _backoff(attempt)
                if wait > self._longest_wait:
                    failure = f"{failure}; it asks to wait {wait:,.0f} seconds"
                    raise ServiceFailed(self._failed(failure, response.status_code))
                if response.status_code == 429:
                    self._hold(wait)
            if attempt + 1 < self._attempts:
                self._sleep(wait)
        kind = Silent if silent else ServiceFailed
        raise kind(self._failed(f"{failure} ({self._attempts} times)", 0))

    def _send(self, body: Any, texts: int) -> httpx.Response:
        import json

        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        headers = {"Content-Type": "application/json"}
        with self._gate:
            if self._key is False:
                self._key = secrets.key_for(self._directory, self.url)
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = self._client.build_request("POST", self.url, content=content, headers=headers)
        with self._slots:
            if self._stopped.is_set():
                raise ServiceFailed(f"{self.url} was asked no more, since this run ends")
            self._ledger.add(self.url, self._purpose, len(content), texts)
            # A server that has begun to answer is free for the next request.
            response = self._client.send(request, stream=True)
        try:
            response.read()
        finally:
            response.close()
        return response

    def _wait_for_turn(self) -> None:
        with self._gate:
            wait = self._not_before - time.monotonic()
        if wait > 0:
            self._sleep(wait)

    def _hold(self, wait: float) -> None:
        with self._gate:
            self._not_before = max(self._not_before, time.monotonic() + wait)

    def _failed(self, what: str, status: int) -> str:
        advice = ""
        if status in (401, 403):
            advice = f"; `git ctx login --url {self.url}` sets the key, or {secrets.VARIABLE}"
        return f"{self.url} failed: {what}{advice}"


def _client(url: str, settings: Settings, timeout: float) -> httpx.Client:
    """A client with the proxy and the certificates that git uses; TLS is always verified."""
    import httpx

    proxy = settings.get("http.proxy")
    if proxy and "://" not in proxy:
        proxy = f"http://{proxy}"
    try:
        return httpx.Client(
            timeout=timeout,
            proxy=proxy or None,
            verify=_certificates((url, proxy or ""), settings.get("http.sslCAInfo")),
            follow_redirects=False,
        )
    except (OSError, ValueError) as error:
        raise CtxError(f"{url} cannot be asked: {error} (http.proxy, http.sslCAInfo)") from error


def _certificates(addresses: Sequence[str], file: str | None) -> ssl.SSLContext | bool:
    import os
    import ssl

    if not file and not any(address.startswith("https:") for address in addresses):
        # To read all certificates takes longer than a query; with none, nothing that has to be verified is.
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if not file:
        return True
    return ssl.create_default_context(cafile=os.path.expanduser(file))


def _json(response: httpx.Response, url: str) -> Any:
    if len(response.content) > _LARGEST_ANSWER:
        raise ServiceFailed(f"{url} answered with {len(response.content):,} bytes, which is too much")
    try:
        return response.json()
    except ValueError:
        raise ServiceFailed(f"{url} did not answer with JSON: is it the address of a service?") from None


def _words(response: httpx.Response) -> str:
    """What a service says is wrong, on one line of at most 300 characters."""
    text = response.text
    try:
        found = response.json()
        error = found.get("error", found.get("detail", found)) if isinstance(found, dict) else found
        text = str(error.get("message", error) if isinstance(error, dict) else error)
    except ValueError:
        pass
    return " ".join(text.split())[:300] or response.reason_phrase


def _is_length(said: str) -> bool:
    words = said.lower()
    return any(
        part in words
        for part in (
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
    )


def _asked(response: httpx.Response) -> float | None:
    """Seconds that the server asks us to wait (RFC 9110, Retry-After)."""
    value = response.headers.get("Retry-After", "").strip()
    try:
        wait = float(value)
    except ValueError:
        try:
            wait = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError):
            return None
    return min(max(wait, 0.0), _LONGEST_ASKED)


def _backoff(attempt: int) -> float:
    longest = min(_LONGEST_WAIT, _FIRST_WAIT * 2**attempt)
    return random.uniform(longest / 2, longest)
