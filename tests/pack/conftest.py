"""Fixtures: the repository of the shop, and its index."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from shop_project import FILES

import ctx
from ctx.index import Index


@pytest.fixture
def shop(make_repo: Callable[..., Any]) -> Any:
    """Return a repository with FILES in one commit."""
    made = make_repo("shop")
    made.commit(dict(FILES))
    return made


@pytest.fixture
def index(shop: Any) -> Iterator[Index]:
    """Open the index of the shop."""
    with ctx.open(shop.path) as opened:
        yield opened
