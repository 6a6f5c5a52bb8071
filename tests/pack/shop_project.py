"""The files of a small shop, and a task about it."""

from __future__ import annotations

FILES: dict[str | bytes, str | bytes] = {
    "shop/session.py": '''"""Sessions of customers."""

import time

from shop.clock import monotonic_seconds


class SessionStore:
    """Keeps the sessions that are open."""

    def __init__(self, lifetime: float) -> None:
        self.lifetime = lifetime
        self.sessions = {}

    def renew_session(self, token: str) -> None:
        """Push the expiry of a session into the future."""
        if token not in self.sessions:
            raise UnknownSession(token)
        self.sessions[token] = monotonic_seconds() + self.lifetime

    def forget_expired(self) -> int:
        """Drop every session whose time is over, and say how many."""
        now = monotonic_seconds()
        over = [token for token, end in self.sessions.items() if end < now]
        for token in over:
            del self.sessions[token]
        return len(over)


class UnknownSession(Exception):
    """There is no such session."""
''',
    "shop/clock.py": '''"""Time."""

import time


def monotonic_seconds() -> float:
    """Seconds that never go back."""
    return time.monotonic()


def wall_clock() -> float:
    """Seconds since 1970, which may go back."""
    return time.time()
''',
    "shop/login.py": '''"""Signing in."""

from shop.session import SessionStore


def touch_on_request(store: SessionStore, token: str) -> None:
    """Each request keeps its customer signed in."""
    store.renew_session(token)
''',
    "tests/test_session.py": """from shop.session import SessionStore


class TestSessions:
    def setUp(self):
        self.store = SessionStore(lifetime=60)

    def test_renew_session_pushes_expiry(self):
        self.store.sessions["a"] = 1
        self.store.renew_session("a")
        assert self.store.sessions["a"] > 60

    def test_colours_of_buttons(self):
        assert mix("red", "blue") == "purple"
""",
    "shop/invoice.go": """package shop

import "fmt"

// Invoice is what a customer pays.
type Invoice struct {
\tNumber int
\tCents  int
}

// Total renders the sum of an invoice in euros.
func (i Invoice) Total() string {
\treturn fmt.Sprintf("%d.%02d", i.Cents/100, i.Cents%100)
}
""",
    "shop/basket.ts": """// Adds a thing to a basket.
export function addToBasket(basket: Map<string, number>, thing: string): void {
  basket.set(thing, (basket.get(thing) ?? 0) + 1);
}
""",
    "docs/guide.md": "# Guide\n\nHow to install it.\n\n## Billing\n\nInvoices are sent once a month.\n",
    "logo.png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\x00",
}
TASK = "renew_session raises UnknownSession although the session was renewed a second ago"
