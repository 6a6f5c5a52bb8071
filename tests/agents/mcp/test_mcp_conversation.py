"""A recorded conversation, so that changes of the protocol are intended.

Lines with `>` are sent and lines with `<` come back; running this file as a program records
them again. Scores are left out, the ranking has tests of its own.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from conversations import FILES, lines, start
from repositories import Repo

from ctx._version import __version__

RECORDED = Path(__file__).with_name("conversation.jsonl")


def spoken(path: Path) -> str:
    """Return the conversation with a server, with the questions of the recorded one."""
    process = start(path)
    assert process.stdin is not None
    assert process.stdout is not None
    transcript = ""
    for line in RECORDED.read_text(encoding="utf-8").splitlines():
        if not line.startswith("> "):
            continue
        transcript += line + "\n"
        message = json.loads(line[2:])
        process.stdin.write(lines(message))
        process.stdin.flush()
        if "id" in message:
            answer = json.loads(process.stdout.readline())
            transcript += f"< {json.dumps(settled(answer), ensure_ascii=False, sort_keys=True)}\n"
    rest, _ = process.communicate(timeout=60)
    assert rest == b""
    return transcript


def settled(answer: object) -> object:
    """Return an answer without version and scores."""
    text = json.dumps(answer, ensure_ascii=False).replace(f'"{__version__}"', '"<version>"')
    return json.loads(re.sub(r'"score": [\d.e-]+', '"score": 0', text))


def project(path: Path) -> Repo:
    repo = Repo(path)
    repo.git("-c", "init.defaultBranch=main", "init", "--quiet")
    repo.commit(FILES, "Renew sessions")
    repo.commit({"src/colour.py": "def mix_colours(a, b):\n    return (a + b) / 2\n"}, "Mix colours")
    return repo


def test_conversation_matches_the_recorded_one(tmp_path: Path) -> None:
    found, recorded = spoken(project(tmp_path).path), RECORDED.read_text(encoding="utf-8")
    for said, expected in zip(found.splitlines(), recorded.splitlines(), strict=True):
        assert said == expected


if __name__ == "__main__":
    for name in ("AUTHOR", "COMMITTER"):
        os.environ |= {f"GIT_{name}_NAME": "Ada Tester", f"GIT_{name}_EMAIL": "ada@example.org"}
    os.environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    with tempfile.TemporaryDirectory() as folder:
        RECORDED.write_text(spoken(project(Path(folder)).path), encoding="utf-8")
    subprocess.run(["git", "diff", "--stat", str(RECORDED)], check=True)
