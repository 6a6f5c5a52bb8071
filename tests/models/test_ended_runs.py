"""Interrupted runs, and searches that must not wait for a busy or absent model."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from itertools import count

import pytest
from repositories import Repo
from service import Fault, Handler, Service, slow, status
from service_project import configure, git_ctx, source, started


def begun(
    repo: Repo,
    service: Service,
    requests: int,
    command: tuple[str, ...] = ("index",),
    fault: Fault | None = None,
) -> subprocess.Popen[bytes]:
    """Start an index run and wait until it has sent `requests` requests, each answered with a delay."""
    service.always = fault or slow(0.4)
    configure(repo, service, batch="1", concurrency="2")
    process = started(repo.path, *command)
    while len(service.requests) < requests:
        assert process.poll() is None
        time.sleep(0.02)
    return process


@pytest.mark.parametrize(
    ("command", "number"),
    [
        (("index",), signal.SIGTERM),
        (("index",), signal.SIGINT),
        (("pin", "HEAD"), signal.SIGTERM),
        (("init",), signal.SIGTERM),
        (("push", "remote.git"), signal.SIGTERM),
    ],
)
def test_pending_answers_are_kept_when_a_run_is_interrupted(
    project: Repo, service: Service, command: tuple[str, ...], number: signal.Signals
) -> None:
    """The run waits for pending answers, sends nothing else, and nothing is sent again."""
    project.git("init", "--quiet", "--bare", "remote.git")
    told_to_end, numbers = threading.Event(), count(1)

    def held(_: Handler) -> bool:
        """Answer the first requests at once, the pending ones after the signal, and others much later."""
        request_number = next(numbers)
        if request_number > 2:
            assert told_to_end.wait(60)
            time.sleep(0.4 if request_number <= 4 else 5)
        return False

    process = begun(project, service, 4, command, held)
    process.send_signal(number)
    told_to_end.set()
    _, messages = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert command != ("index",) or b"the next `git ctx index` continues from here" in messages
    sent = [text for text in service.texts() if text.startswith("Filepath: ")]
    assert 2 <= len(sent) < 8
    service.always = None
    assert git_ctx(project.path, "index").status == 0
    every = [text for text in service.texts() if text.startswith("Filepath: ")]
    assert len(every) == len(set(every)) == 8


def test_the_ledger_has_what_a_killed_run_sent(project: Repo, service: Service) -> None:
    """At most the counts of the last second are lost; the notice is printed before the first byte."""
    process = begun(project, service, 8)
    process.kill()
    _, messages = process.communicate(timeout=60)
    assert b"will be sent to" in messages
    (sent,) = git_ctx(project.path, "privacy", "--json-output").json["sent"]
    assert 4 <= sent["requests"] <= len(service.requests)


def test_texts_that_are_too_long_are_counted_in_the_snapshot(project: Repo, service: Service) -> None:
    """In the snapshot of each tree with such texts, also if another run embedded them."""

    def short(request: Handler) -> bool:
        if any("session_bridge" in text and len(text) > 600 for text in request.body["input"]):
            request.answer(413, {"error": "too large"})
            return True
        return False

    service.always = short
    assert "1 truncated" in git_ctx(project.path, "index").out
    assert "HEAD is complete, 1 text truncated" in git_ctx(project.path, "status").out
    project.commit({"src/deep/invoice.py": source("invoice", 3)})
    git_ctx(project.path, "index")
    (model,) = git_ctx(project.path, "status", "--json-output").json["remoteModels"]
    assert (model["cutTexts"], len(model["snapshots"])) == (1, 2)
    project.commit({"src/session.py": source("session", 1)})
    git_ctx(project.path, "index")
    (model,) = git_ctx(project.path, "status", "--json-output").json["remoteModels"]
    assert model["cutTexts"] == 0


@pytest.mark.parametrize(
    "fault", [status(429, "slowly", Retry_After="600"), status(503, "later", Retry_After="600")]
)
def test_a_search_does_not_wait_for_a_server_that_wants_to_be_left_alone(
    project: Repo, service: Service, fault: object
) -> None:
    git_ctx(project.path, "index")
    before = len(service.requests)
    service.always = fault  # type: ignore[assignment]
    run = git_ctx(project.path, "search", "invoice of a candle", "--json-output")
    assert run.json["rankedWith"] == []
    assert "it requests a delay of 600 seconds" in run.json["message"]
    assert run.json["results"][0]["symbol"] == "invoice_candle"
    assert len(service.requests) == before + 1
