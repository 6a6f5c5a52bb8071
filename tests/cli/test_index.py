"""`git ctx index` on a real repository, from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest


def finished(run):
    assert (run.status, run.err) == (0, "")
    assert run.json_lines[-1]["type"] == "finished"
    return run.json_lines[-1]


def test_json_lines(git_ctx, project):
    run = git_ctx("index", "--json-output", cwd=project.path)
    done = finished(run)
    assert set(done) == {
        "type", "totalClusters", "processedNewClusters", "reusedClusters", "embeddedChunks", "skippedFiles",
        "storage",
    }  # fmt: skip
    assert done["totalClusters"] == done["processedNewClusters"] > 0
    assert done["reusedClusters"] == 0
    assert done["embeddedChunks"] > 0
    assert sum(done["skippedFiles"].values()) == 1
    assert done["storage"] == "local"
    percents = [line["percent"] for line in run.json_lines[:-1]]
    assert percents[0] == 0
    assert percents[-1] == 100
    assert percents == sorted(set(percents))
    again = git_ctx("index", "--json-output", cwd=project.path)
    assert (again.status, again.json_lines) == (0, [{"type": "skipped", "reason": "ALREADY_INDEXED"}])


def test_only_what_changed_is_embedded(git_ctx, project):
    git_ctx("index", cwd=project.path)
    project.commit({"src/hats.py": "def wear_hat(head):\n    return head.hat\n"})
    done = finished(git_ctx("index", "--json-output", cwd=project.path))
    assert done["embeddedChunks"] == 1
    project.git("revert", "--no-edit", "HEAD")
    again = git_ctx("index", "--json-output", cwd=project.path)
    assert again.json_lines == [{"type": "skipped", "reason": "ALREADY_INDEXED"}]


def test_text_output(git_ctx, project):
    run = git_ctx("index", cwd=project.path)
    assert (run.status, run.err) == (0, "")
    (line,) = run.lines
    assert line.startswith(f"indexed main (tree {project.git('rev-parse', 'HEAD^{tree}')[:12]}): ")
    assert "1 file left out" in line
    assert git_ctx("index", cwd=project.path).text.endswith(" is indexed already\n")


def test_silent(git_ctx, project):
    assert git_ctx("index", "--silent", cwd=project.path)[:3] == (0, b"", "")
    wrong = git_ctx("index", "--silent", "nowhere", cwd=project.path)
    assert wrong.status == 128
    assert wrong.err.startswith("fatal: ")


def test_ci_writes_plain_lines(git_ctx, project):
    run = git_ctx("index", "--ci", cwd=project.path)
    assert run.status == 0
    assert run.err.startswith("indexing: ")
    assert "\r" not in run.err
    assert "\x1b" not in run.err
    assert run.text.startswith("indexed main ")
    (snapshot,) = git_ctx("status", "--json-output", cwd=project.path).json["snapshots"]
    assert snapshot["provenance"][-1]["trigger"] == "ci"


def test_revisions(git_ctx, project):
    first = project.git("rev-parse", "HEAD")
    project.git("tag", "v1")
    project.git("checkout", "-q", "-b", "other")
    project.commit({"src/hats.py": "def wear_hat(head):\n    return head.hat\n"})
    assert finished(git_ctx("index", "v1", "--json-output", cwd=project.path))["processedNewClusters"] > 0
    for arguments in (["--branch", "main"], [first], [f"{first}^{{tree}}"], ["HEAD~1"]):
        run = git_ctx("index", *arguments, "--json-output", cwd=project.path)
        assert run.json_lines == [{"type": "skipped", "reason": "ALREADY_INDEXED"}]
    assert finished(git_ctx("index", "--json-output", "--jobs", "1", cwd=project.path))["embeddedChunks"] == 1


def test_nothing_is_written_in_the_work_tree(git_ctx, project):
    before = (
        project.git("for-each-ref"),
        (project.path / ".git/config").read_bytes(),
        set(project.path.iterdir()),
    )
    git_ctx("index", cwd=project.path)
    git_ctx("search", "session", cwd=project.path)
    after = (
        project.git("for-each-ref"),
        (project.path / ".git/config").read_bytes(),
        set(project.path.iterdir()),
    )
    assert after == before
    assert project.git("status", "--porcelain", "--ignored") == ""


def many_files(project):
    """Enough work that a run can be caught in the middle of it."""
    body = "".join(f"    if value > {i}:\n        value -= step_{i}(value)\n" for i in range(40))
    project.commit(
        {
            f"many/d{i}/f{j}.py": f"def compute_{i}_{j}(value):\n{body}    return value\n"
            for i in range(40)
            for j in range(10)
        }
    )


def started(environment, project, *options):
    """An indexing run that has begun, in a process group of its own as a shell makes it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ctx", "index", "--json-output", *options],
        cwd=project.path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        # Whoever runs the tests in the background has it ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert json.loads(process.stdout.readline()) == {"type": "progress", "percent": 0}
    return process


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_killed_and_started_again(environment, git_ctx, project, jobs):
    many_files(project)
    process = started(environment, project, "--jobs", jobs)
    process.kill()
    process.communicate()
    run = git_ctx("index", "--json-output", cwd=project.path)
    assert run.status == 0
    assert run.json_lines[-1]["type"] in ("finished", "skipped")
    answer = git_ctx("search", "compute_39_9", "--json-output", cwd=project.path).json
    assert answer["coverage"]["complete"] is True
    assert answer["results"][0]["result"]["sourcePosition"]["relativePath"] == "many/d39/f9.py"


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupted(environment, git_ctx, project, jobs):
    many_files(project)
    process = started(environment, project, "--jobs", jobs)
    os.killpg(process.pid, signal.SIGINT)  # what a terminal does at ctrl-c
    _, err = process.communicate(timeout=60)
    assert err.decode() == "interrupted; the next `git ctx index` continues from here\n"
    assert process.returncode == 130
    assert git_ctx("index", cwd=project.path).status == 0


def test_second_run_queues_its_request_with_the_first(environment, git_ctx, project):
    many_files(project)
    project.git("branch", "topic")
    project.git("checkout", "-q", "topic")
    project.commit({"src/hats.py": "def wear_hat(head):\n    return head.hat\n"})
    project.git("checkout", "-q", "main")
    process = started(environment, project, "--jobs", "1")
    process.send_signal(signal.SIGSTOP)
    queued = git_ctx("index", "topic", "--json-output", cwd=project.path)
    process.send_signal(signal.SIGCONT)
    out, err = process.communicate(timeout=60)
    assert (queued.status, queued.json_lines) == (0, [{"type": "skipped", "reason": "INDEXING_IN_PROGRESS"}])
    assert (process.returncode, err) == (0, b"")
    assert json.loads(out.splitlines()[-1])["type"] == "finished"
    again = git_ctx("index", "topic", "--json-output", cwd=project.path)
    assert again.json_lines == [{"type": "skipped", "reason": "ALREADY_INDEXED"}]


def test_a_rule_file_that_is_not_applied_is_reported(git_ctx, project):
    project.commit({"odd\n/.ctxignore": "*.c\n" * 300_000, "odd\n/a.c": "int a;\n"})
    run = git_ctx("index", "--json-output", cwd=project.path)
    assert run.status == 0
    assert run.err == (
        "warning: the rules of .ctxignore in 'odd\\n' are not applied: the file "
        "is larger than 1048576 bytes\n"
    )
    assert git_ctx("index", "--json-output", cwd=project.path).err == ""
