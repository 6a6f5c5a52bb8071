"""A service, and a small project that is configured to use it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from repositories import Repo
from service import Service
from service_project import configure, source


@pytest.fixture
def service() -> Iterator[Service]:
    """The service on loopback."""
    with Service() as running:
        yield running


@pytest.fixture
def project(make_repo: Callable[..., Repo], service: Service) -> Repo:
    """A project of two files with a dozen chunks to embed."""
    repo = make_repo()
    repo.commit({"src/session.py": source("session", 4), "src/deep/invoice.py": source("invoice", 4)})
    configure(repo, service)
    return repo
