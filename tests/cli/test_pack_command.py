"""`git ctx pack` from outside: what it prints, keeps and refuses."""

from __future__ import annotations

import json

import pytest

TASK = "renew_session keeps sessions that are over"


def packs(project):
    folder = project.path / ".git/ctx/packs"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_from_task_to_update(git_ctx, project):
    run = git_ctx("pack", "--task", TASK, cwd=project.path)
    assert (run.status, run.err) == (0, "")
    (slug,) = packs(project)
    assert run.lines[0].startswith("  src/session.py:")
    assert run.lines[-2].startswith(f"-- {slug}: ")
    text = (project.path / run.lines[-1]).read_text()
    assert text.startswith("# Task\n")
    assert git_ctx("pack", "--read", slug[:8], cwd=project.path).text == text
    assert git_ctx("pack", "--list", cwd=project.path).text.endswith(f"  {slug}\n")
    (listed,) = git_ctx("pack", "--list", "--json", cwd=project.path).json["packs"]
    assert listed["slug"] == slug
    source = project.path / "src/session.py"
    source.write_text(source.read_text().replace("end < now", "end <= now"))
    update = git_ctx("pack", "--update", "latest", "--json", cwd=project.path).json
    assert (update["type"], update["parentPack"]) == ("pack_result", slug)
    assert update["changes"]["changed"] == ["src/session.py"]
    assert len(packs(project)) == 2
    text = git_ctx("pack", "--read", "latest", cwd=project.path).text
    assert "end <= now" in text
    assert json.loads(git_ctx("pack", "--read", "latest", "--json", cwd=project.path).out) == update
    assert project.git("status", "--porcelain") == " M src/session.py"


def test_the_text_alone(git_ctx, project):
    run = git_ctx(
        "pack", "--task", "-", "--stdout", "--format", "json", cwd=project.path, stdin=TASK.encode()
    )
    assert (run.status, run.err) == (0, "")
    assert run.json["task"] == TASK


def test_an_empty_list_names_the_command(git_ctx, project):
    run = git_ctx("pack", "--list", cwd=project.path)
    assert (run.status, run.text) == (0, "")
    assert "git ctx pack --task" in run.err


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ([], 129, "Give a task"),
        (["--task", ""], 129, "the task is empty"),
        (["--task", "the"], 129, "has only common words"),
        (["--task", TASK, "--budget-tokens", "30"], 129, "frame"),
        (["--task", TASK, "--budget-tokens", "0"], 129, "budget-tokens"),
        (["--task", TASK, "--error-log", "nowhere.txt"], 128, "nowhere.txt' cannot be read: No such file"),
        (["--task", TASK, "--error-log", "src"], 128, "src' cannot be read"),
        (["--task", TASK, "--revision", "nowhere"], 128, "nowhere"),
        (["--task", TASK, "--in", "HEAD", "--revision", "HEAD"], 129, "range"),
        (["--task", TASK, "--tokenizer", "p50k_base"], 129, "o200k_base"),
        (["--update", "nowhere"], 128, "there is no pack 'nowhere'"),
        (["--read", "latest"], 128, "no pack yet"),
        (["--read", "../../config"], 128, "not a valid pack name"),
        (["--list", "--task", TASK], 129, "makes no pack"),
        (["--task", TASK, "--json", "--stdout"], 129, "exclude each other"),
    ],
)
def test_invalid_options_are_errors(git_ctx, project, arguments, status, words):
    run = git_ctx("pack", *arguments, cwd=project.path)
    assert run.status == status
    assert words in run.err
    assert "Traceback" not in run.err
    assert packs(project) == []


def test_errors_in_json(git_ctx, project):
    run = git_ctx("pack", "--read", "latest", "--json", cwd=project.path)
    assert (run.json["type"], run.json["exitCode"]) == ("error", 128)


def test_without_the_tokenizer_the_extra_is_named(git_ctx, project, tmp_path, environment):
    (tmp_path / "without/bpe_openai").mkdir(parents=True)
    (tmp_path / "without/bpe_openai/__init__.py").write_text("raise ImportError('not there')\n")
    path = f"{tmp_path}/without:{environment['PYTHONPATH']}"
    run = git_ctx("pack", "--task", TASK, cwd=project.path, env={"PYTHONPATH": path})
    assert run.status == 128
    assert "pip install 'git-ctx[pack]'" in run.err


def test_a_pack_without_answers(git_ctx, make_repo):
    repo = make_repo("empty of words")
    repo.commit({"a.txt": "x\n"})
    run = git_ctx("pack", "--task", "zymurgy quokka", cwd=repo.path)
    assert run.status == 1
    assert "nothing in this tree answers" in run.text
    run = git_ctx("pack", "--task", "zymurgy quokka", "--json", cwd=repo.path)
    assert (run.status, run.json["files"]) == (1, [])
    assert packs(repo) == []


def test_a_pack_that_cannot_be_stored_is_printed(git_ctx, project):
    git_ctx("index", cwd=project.path)
    (project.path / ".git/ctx/packs").write_text("in the way of the directory\n")
    for output in ((), ("--stdout",)):
        run = git_ctx("pack", "--task", TASK, *output, cwd=project.path)
        assert run.status == 0
        assert "def renew_session" in run.text
        assert "warning: the pack is not stored: " in run.err


def test_a_range_and_a_log(git_ctx, project):
    project.commit({"src/retry.go": "package retry\n\nfunc Backoff() int {\n\treturn 3\n}\n"})
    run = git_ctx("pack", "--task", "review this", "--in", "HEAD~1..HEAD", "--json", cwd=project.path)
    assert run.json["files"][0]["path"] == "src/retry.go"
    (project.path / "trace.txt").write_text("TypeError: x\n    at mixColours (/app/lib/colour.js:3:10)\n")
    run = git_ctx("pack", "--task", "crash", "--error-log", "trace.txt", "--json", cwd=project.path)
    assert run.json["files"][0]["path"] == "lib/colour.js"
    assert {"path": "/app/lib/colour.js", "symbol": None, "line": 3, "origin": "error_log"} in run.json[
        "hints"
    ]
