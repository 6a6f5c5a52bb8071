"""Tests of start and end of the server: with its client, parent and project; stdout has only protocol."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conversations import FILES, HELLO, ROOT, call, lines, start, talk, text
from mcp import ClientSession
from repositories import Repo

READY = {"method": "notifications/initialized"}
SEARCH = {"name": "code_search", "arguments": {"text": "where is a session renewed"}}


@pytest.fixture
def project(repo: Repo) -> Repo:
    repo.commit(FILES)
    return repo


@pytest.fixture
def large(repo: Repo) -> Repo:
    """Create a project whose first search takes several batches."""
    body = "".join(f"def step_{n}(a):\n    return a + {n}\n\n\n" for n in range(40))
    repo.commit({f"src/part{n % 30}/file{n}.py": f"# {n}\n{body}" for n in range(600)})
    return repo


def reply(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Return the next message of the server."""
    assert process.stdout is not None
    message: dict[str, Any] = json.loads(process.stdout.readline())
    assert message["jsonrpc"] == "2.0"
    return message


def say(process: subprocess.Popen[bytes], *messages: dict[str, Any] | bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(lines(*messages))
    process.stdin.flush()


def searching(process: subprocess.Popen[bytes]) -> None:
    """Start the first search of a project, and return when it reports progress."""
    asked = SEARCH | {"_meta": {"progressToken": 7}}
    say(process, HELLO, READY, {"id": 2, "method": "tools/call", "params": asked})
    assert reply(process)["id"] == 1
    assert reply(process)["method"] == "notifications/progress"


def test_server_ends_quietly_when_its_client_disconnects(project: Repo) -> None:
    """Malformed lines are answered or ignored, and every line on stdout is JSON-RPC."""
    process = start(project.path)
    say(
        process, b"this is no JSON", b'{"jsonrpc":"2.0"}', b"\xff\xfe", b"[]", b"{" * 100_000, HELLO, READY,
        {"id": 2, "method": "no/such"}, {"id": 3, "method": "tools/call", "params": {"name": 7}},
        {"id": 4, "method": "tools/call", "params": SEARCH},
    )  # fmt: skip
    replies = []
    while not {2, 3, 4} <= {one.get("id") for one in replies}:
        replies.append(reply(process))
    rest, _ = process.communicate(timeout=120)
    assert (process.returncode, rest) == (0, b"")
    by_id = {one.get("id"): one for one in replies}
    assert by_id[1]["result"]["serverInfo"]["name"] == "git-ctx"
    assert {number: "error" in by_id[number] for number in (2, 3)} == {2: True, 3: True}


def test_a_client_that_is_killed_in_the_middle_of_the_first_search(large: Repo) -> None:
    """The server ends without output, and its work is not lost."""
    process = start(large.path)
    searching(process)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stdin.close()
    assert process.wait(timeout=120) == 0
    said = process.stderr.read().decode()
    process.stderr.close()
    assert "Traceback" not in said
    assert "fault" not in said
    (again,) = call(large.path, ("code_search", {"text": "step_7"}))
    assert not again.is_error


def test_server_keeps_running_after_a_cancelled_call(large: Repo) -> None:
    process = start(large.path)
    searching(process)
    say(process, {"method": "notifications/cancelled", "params": {"requestId": 2}})
    say(process, {"id": 3, "method": "tools/call", "params": SEARCH})
    while (got := reply(process)).get("id") != 3:
        assert got.get("id") in (None, 2)
    assert got["result"]["isError"] is False
    process.communicate(timeout=120)
    assert process.returncode == 0


def test_server_ends_with_its_parent_although_stdin_stays_open(project: Repo, tmp_path: Path) -> None:
    keep, held = os.pipe()
    script = (
        "import subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-m', 'ctx', 'mcp'], stdin=int(sys.argv[1]))\n"
        "time.sleep(600)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script, str(keep)],
        cwd=project.path,
        stdout=subprocess.PIPE,
        pass_fds=[keep],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    os.close(keep)
    assert parent.stdout is not None
    os.write(held, lines(HELLO))
    assert b'"serverInfo"' in parent.stdout.readline()
    parent.kill()
    parent.wait()
    # The server inherits its parent's stdout, which closes when the server ends.
    ended, _, _ = select.select([parent.stdout], [], [], 120)
    assert ended
    assert parent.stdout.read() == b""
    os.close(held)
    parent.stdout.close()


def test_interrupt_ends_the_server(project: Repo) -> None:
    process = start(project.path)
    say(process, HELLO)
    reply(process)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == -signal.SIGINT
    process.communicate()


def test_progress_of_the_first_search(large: Repo) -> None:
    """Progress rises to the number of files, with a message; the second search reports none."""
    process = start(large.path)
    asked = SEARCH | {"_meta": {"progressToken": "p"}}
    say(process, HELLO, READY, {"id": 2, "method": "tools/call", "params": asked})
    reply(process)
    reports = []
    while (got := reply(process)).get("id") != 2:
        assert got["params"]["progressToken"] == "p"
        reports.append(got["params"])
    done = [one["progress"] for one in reports]
    assert done == sorted(set(done))
    assert {one["total"] for one in reports} == {600}
    assert done[-1] <= 600
    assert reports[0]["message"].endswith("of 600 files")
    say(process, {"id": 3, "method": "tools/call", "params": asked})
    assert reply(process)["id"] == 3
    process.communicate(timeout=60)


def test_a_project_that_disappears_and_comes_back(project: Repo, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    asked = ("code_search", {"text": "renew"})
    _, gone, back = call(
        project.path,
        asked,
        lambda: project.path.rename(elsewhere),
        asked,
        lambda: elsewhere.rename(project.path),
        asked,
    )
    assert gone.is_error
    assert "no longer exists" in text(gone)
    assert not back.is_error


def test_repository_that_replaces_the_project_is_opened(project: Repo, tmp_path: Path) -> None:
    """The open git process would keep reading the directory that was moved."""

    def replace() -> None:
        project.path.rename(tmp_path / "moved")
        project.path.mkdir()
        project.git("init", "--quiet")
        project.commit({"paint.py": "def paint_window():\n    return 'blue'\n"})

    asked = ("code_search", {"text": "paint_window"})
    before, after = call(project.path, asked, replace, asked)
    assert "paint.py" not in text(before)
    assert [hit["path"] for hit in after.structured_content["hits"]] == ["paint.py"]


def test_repository_around_the_project_is_not_used_instead(project: Repo) -> None:
    inner = Repo(project.path / "inner")
    inner.path.mkdir()
    inner.git("init", "--quiet")
    inner.commit({"inside.py": "def inside(): ...\n"})
    asked = ("code_search", {"text": "renew a session"})
    before, after = call(inner.path, asked, lambda: shutil.rmtree(inner.path / ".git"), asked)
    assert not before.is_error
    assert after.is_error
    assert "no longer a git repository" in text(after)


@pytest.mark.parametrize("options", [["--root", "repo/src"], ["-C", "repo"], ["-C", "bare.git"]])
def test_root_may_be_a_directory_inside_the_project(
    project: Repo, tmp_path: Path, options: list[str]
) -> None:
    project.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare.git"))
    process = start(tmp_path, *options)
    messages = lines(HELLO, READY, {"id": 2, "method": "tools/call", "params": SEARCH})
    assert process.stdin is not None
    process.stdin.write(messages)
    process.stdin.flush()
    reply(process)
    while (got := reply(process)).get("id") != 2:
        pass
    assert got["result"]["structuredContent"]["hits"][0]["path"] == "src/session.py"
    process.communicate(timeout=60)


def test_outside_of_a_repository_it_starts_and_finds_one_that_appears(tmp_path: Path) -> None:
    place = Repo(tmp_path / "later")
    place.path.mkdir()

    def appear() -> None:
        place.git("init", "--quiet")
        place.commit(FILES)

    async def conversation(session: ClientSession) -> Any:
        offered = [tool.name for tool in (await session.list_tools()).tools]
        before = await session.call_tool("code_search", SEARCH["arguments"])
        appear()
        return offered, before, await session.call_tool("code_search", SEARCH["arguments"])

    offered, before, after = talk(place.path, conversation)
    assert "code_search" in offered
    assert before.is_error
    for words in ("git repository", str(place.path), "git-ctx -C PATH mcp", "git init"):
        assert words in text(before)
    assert after.structured_content["hits"][0]["path"] == "src/session.py"


def asked(process: subprocess.Popen[bytes], line: bytes) -> dict[str, Any]:
    """Return the reply to one line."""
    say(process, line)
    return reply(process)


def request(arguments: str, given: str = "7", name: str = '"code_search"') -> bytes:
    """Return a tool call with arguments given as JSON text."""
    params = f'{{"name":{name},"arguments":{arguments}}}'
    return f'{{"jsonrpc":"2.0","id":{given},"method":"tools/call","params":{params}}}'.encode()


DEEP = 100_000
INVALID_REQUEST, INVALID_PARAMS, PARSE_ERROR = -32600, -32602, -32700
MALFORMED: list[tuple[bytes, object, int, str]] = [
    (request('{"text":"\\ud800"}'), 7, INVALID_PARAMS, "half of a surrogate pair"),
    (request('{"text":"x","\\udfff":1}', '"a"'), "a", INVALID_PARAMS, "half of a surrogate pair"),
    (request('{"text":"x"}', '"\\ud800"'), None, INVALID_REQUEST, "half of a surrogate pair"),
    (request('{"text":"x","limit":' + "9" * 5_000 + "}"), 7, INVALID_PARAMS, "number out of range"),
    (request('{"text":' + "[" * 300 + "]" * 300 + "}"), 7, INVALID_PARAMS, "recursion limit"),
    (request('{"text":' + "[" * DEEP + "]" * DEEP + "}"), 7, PARSE_ERROR, "nested too deeply"),
    (request('{"text":"x"'), 7, PARSE_ERROR, "not JSON"),
    (b"{", None, PARSE_ERROR, "not JSON"),
    (b"\xff\xfe", None, PARSE_ERROR, "not JSON"),
    (b"[]", None, INVALID_REQUEST, "one JSON object"),
    (b"7", None, INVALID_REQUEST, "one JSON object"),
    (b'{"id":7,"method":"ping"}', 7, INVALID_REQUEST, '"jsonrpc"'),
    (b'{"jsonrpc":"2.0","id":7}', 7, INVALID_REQUEST, "a method"),
    (b'{"jsonrpc":"2.0","id":7,"method":5}', 7, INVALID_REQUEST, "a method"),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, INVALID_REQUEST, "id has to be"),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None, INVALID_REQUEST, "id has to be"),
    (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', None, INVALID_REQUEST, "id has to be"),
    (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}', 7, INVALID_PARAMS, "an object"),
    (request("[1]"), 7, INVALID_PARAMS, ""),
    (request("{}", name="5"), 7, INVALID_PARAMS, ""),
]


def test_each_malformed_request_is_answered(project: Repo) -> None:
    process = start(project.path)
    say(process, HELLO, READY)
    assert reply(process)["id"] == 1
    for line, given, code, words in MALFORMED:
        answer = asked(process, line)
        assert (answer["id"], answer["error"]["code"]) == (given, code), (line[:80], answer)
        assert words in answer["error"]["message"], (line[:80], answer)
    # Blank lines, bad notifications and bad responses are not answered.
    say(process, b"", b'{"jsonrpc":"2.0","method":5}', b'{"jsonrpc":"2.0","id":3,"result":"\\ud800"}')
    answer = asked(process, request('{"text":"x","colour":1,"limit":2}', "8"))
    assert answer["id"] == 8
    assert "has no argument 'colour'" in answer["result"]["content"][0]["text"]
    for arguments, words in {
        '{"text":"x","limit":10000000000000000000000000}': "limit has to be 1 to",
        '{"text":"x","limit":1.5}': "limit has to be a whole number",
        '{"text":["x"]}': "text has to be a text",
        '{"text":"x\\u0000"}': "NUL",
        '{"text":"\\ud83d\\ude00 renew a session"}': "renew_session",
    }.items():
        answer = asked(process, request(arguments, "9"))
        assert words in answer["result"]["content"][0]["text"], answer
    _, err = process.communicate(timeout=60)
    assert (process.returncode, b"Traceback" in err) == (0, False)
