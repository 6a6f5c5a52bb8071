"""`git ctx search` on a real repository, from outside."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest


def paths(run):
    return [hit["result"]["sourcePosition"]["relativePath"] for hit in run.json["results"]]


def search(git_ctx, project, *arguments, **more):
    return git_ctx("search", "--json-output", *arguments, cwd=more.pop("cwd", project.path), **more)


def test_first_hit_of_questions(git_ctx, project):
    for question, path, symbol in [
        ("renew a session", "src/session.py", "renew_session"),
        ("drop sessions whose time is over", "src/session.py", "forget_expired"),
        ("wait longer after each failure", "src/retry.go", "Backoff"),
        ("mix two colours", "lib/colour.js", "mixColours"),
        ("when are invoices sent", "docs/guide.md", "Billing"),
    ]:
        run = search(git_ctx, project, question)
        best = run.json["results"][0]
        assert run.status == 0
        assert best["result"]["sourcePosition"]["relativePath"] == path
        assert symbol in best["symbol"] or symbol in best["content"]


def test_published_schema(git_ctx, project):
    run = search(git_ctx, project, "renew a session")
    answer = run.json
    assert run.err == ""
    assert list(answer) == [
        "type",
        "results",
        "message",
        "rankedWith",
        "furtherQueries",
        "revision",
        "revisionName",
        "commit",
        "tree",
        "resolvedBy",
        "coverage",
        "uncommitted",
        "behind",
        "submodules",
    ]
    assert answer["type"] == "search_result"
    assert answer["commit"] == project.git("rev-parse", "HEAD")
    assert answer["tree"] == project.git("rev-parse", "HEAD^{tree}")
    assert answer["coverage"]["complete"] is True
    assert answer["coverage"]["files"] == 5
    assert sum(answer["coverage"]["skipped"].values()) == 1
    scores = [hit["result"]["scoredText"]["similarity"] for hit in answer["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    for hit in answer["results"]:
        assert set(hit) == {
            "result", "content", "contentStartLine", "contentEndLine", "symbol", "kind", "isTestCase",
            "language", "agreement", "blob", "citation", "alsoAt",
        }  # fmt: skip
        assert hit["result"]["indexItemType"] == "CHUNKS"
        position = hit["result"]["sourcePosition"]
        blob = subprocess.run(
            ["git", "cat-file", "blob", hit["blob"]], cwd=project.path, capture_output=True, check=True
        ).stdout
        piece = blob[position["startOffset"] : position["endOffset"]]
        assert piece.decode() == hit["content"]
        assert blob[: position["startOffset"]].count(b"\n") + 1 == hit["contentStartLine"]
        assert blob[: position["endOffset"]].rstrip(b"\n").count(b"\n") + 1 == hit["contentEndLine"]


def test_one_blob_at_two_paths_is_one_hit(git_ctx, project):
    run = search(git_ctx, project, "mix two colours")
    found = [hit for hit in run.json["results"] if "mixColours" in hit["content"]]
    assert [hit["alsoAt"] for hit in found] == [["lib/copy/colour.js"]]


def test_no_content(git_ctx, project):
    run = search(git_ctx, project, "session", "--no-content")
    assert run.status == 0
    assert all("content" not in hit and hit["contentStartLine"] for hit in run.json["results"])


def test_words_make_one_query(git_ctx, project):
    assert (
        search(git_ctx, project, "renew", "a", "session").out
        == search(git_ctx, project, "renew a session").out
    )
    assert search(git_ctx, project, "-", stdin=b"renew a session").json["results"][0]["content"]


def test_limits(git_ctx, project):
    assert len(search(git_ctx, project, "time", "-n", "1").json["results"]) == 1
    assert len(search(git_ctx, project, "time", "--limit=1000").json["results"]) > 1


@pytest.mark.parametrize(
    ("arguments", "where", "found"),
    [
        (["-p", "src"], "", {"src/session.py", "src/retry.go"}),
        (["--path-filter", "*.go"], "", {"src/retry.go"}),
        (["--", "src", ":!*.go"], "", {"src/session.py"}),
        (["--", ":(glob)*/*.js"], "", {"lib/colour.js"}),
        (["-p", "docs", "--", "lib/copy"], "", {"docs/guide.md", "lib/copy/colour.js"}),
        (["--", "."], "lib/copy", {"lib/copy/colour.js"}),
        (["--", ":(top)docs"], "lib", {"docs/guide.md"}),
        (["--", "../src/*.go"], "lib", {"src/retry.go"}),
        (["--lang", "go"], "", {"src/retry.go"}),
        (["--lang", "go", "--lang", "markdown"], "", {"src/retry.go", "docs/guide.md"}),
        (["--content", "docs"], "", {"docs/guide.md"}),
        (["--content=code", "--lang", "go"], "", {"src/retry.go"}),
        (["--content", "config"], "", set()),
    ],
)
def test_filters(git_ctx, project, arguments, where, found):
    everything = "session backoff mixColours invoices"
    run = search(git_ctx, project, everything, *arguments, cwd=project.path / where)
    assert set(paths(run)) == found


def test_filter_that_matches_nothing(git_ctx, project):
    run = git_ctx("search", "session", "--", "nowhere", cwd=project.path)
    assert run.status == 1
    assert "nowhere" in run.text or "no file" in run.text.lower()
    assert run.lines[-1].startswith("-- no hits in main ")


def test_revisions_and_branches(git_ctx, project):
    first = project.git("rev-parse", "HEAD")
    project.git("checkout", "-q", "-b", "other")
    project.git("rm", "-q", "src/retry.go")
    project.commit({"src/hats.py": "def wear_hat(head):\n    return head.hat\n"})
    wanted = "wait longer after each failure"
    assert "src/retry.go" not in paths(search(git_ctx, project, wanted))
    assert paths(search(git_ctx, project, wanted, "--revision", first))[0] == "src/retry.go"
    assert paths(search(git_ctx, project, wanted, "--branch", "main"))[0] == "src/retry.go"
    assert "src/hats.py" not in paths(search(git_ctx, project, "wear hat", "--revision=HEAD~1"))
    assert search(git_ctx, project, wanted, "--revision", f"{first}^{{tree}}").json["commit"] is None


def test_the_overlay_is_named(git_ctx, project):
    assert search(git_ctx, project, "session").json["uncommitted"] == {
        "changedFiles": 0,
        "leftOut": 0,
        "state": "work tree",
    }
    (project.path / "new.py").write_text("def brand_new_session():\n    pass\n")
    project.git("add", "new.py")
    for option, words in (("--work-tree", "1 file not committed"), ("--staged", "1 file staged")):
        run = git_ctx("search", "brand new session", option, cwd=project.path)
        assert run.lines[0] == "new.py:1-2:brand_new_session"
        assert f" with {words};" in run.lines[-1]
    run = search(git_ctx, project, "brand new session", "--theirs")
    assert (run.status, run.json["type"], run.json["exitCode"]) == (128, "error", 128)
    assert "no conflict" in run.json["message"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--ours", "--theirs"),
        ("--work-tree", "--no-overlay"),
        ("--work-tree", "--revision", "HEAD"),
        ("--base", "--branch", "main"),
    ],
)
def test_options_that_exclude_each_other(git_ctx, project, arguments):
    run = git_ctx("search", "session", *arguments, cwd=project.path)
    assert run.status == 129
    assert "exclude each other" in run.err or "goes with HEAD alone" in run.err


def test_the_distance_to_the_index_is_reported(git_ctx, project):
    git_ctx("index", "--silent", cwd=project.path)
    before = project.git("rev-parse", "HEAD")
    (project.path / "new.py").write_text("def brand_new_session():\n    pass\n")
    project.git("add", "new.py")
    project.git("commit", "-q", "-m", "new")
    project.git("config", "ctx.catchUp", "never")
    run = search(git_ctx, project, "brand new session", "--no-overlay")
    assert run.json["behind"] == {
        "tree": project.git("rev-parse", "HEAD~1^{tree}"),
        "commit": before,
        "commits": 1,
        "ahead": 0,
        "files": 1,
    }
    run = git_ctx("search", "brand new session", "--no-overlay", cwd=project.path)
    assert f"{before[:12]}, is 1 commit behind main, 1 file differs" in run.lines[0]


def test_plain_output_is_fit_for_grep(git_ctx, project):
    run = git_ctx("search", "renew", "session", "-n", "2", cwd=project.path)
    assert run.err == ""
    heads = [line for line in run.lines if line and line[0] not in " -"]
    assert len(heads) == 2
    path, lines, symbol = heads[0].split(":")
    assert path == "src/session.py"
    assert symbol.startswith("SessionStore")
    first, last = map(int, lines.split("-"))
    numbered = [
        line.split()[0] for line in run.lines if line.startswith("    ") and line.split()[0].isdigit()
    ]
    assert first <= int(numbered[0]) <= last
    closing = run.lines[-1]
    assert closing.startswith(f"-- 2 hits in main {project.git('rev-parse', 'HEAD')[:12]}; ")
    assert f"tree {project.git('rev-parse', 'HEAD^{tree}')[:12]} (" in closing
    assert "all 5 files" in closing
    assert "1 file left out" in closing
    assert "\x1b" not in run.text


def test_paths_are_seen_from_here(git_ctx, project):
    def first_path(*arguments, cwd):
        return git_ctx("search", "renew session", "-n", "1", *arguments, cwd=cwd).text.split(":")[0]

    assert first_path(cwd=project.path / "src") == "session.py"
    assert first_path(cwd=project.path / "lib" / "copy") == "../../src/session.py"
    assert first_path("--full-name", cwd=project.path / "src") == "src/session.py"
    assert first_path("-C", project.path / "src", cwd=project.path.parent) == "session.py"
    assert first_path("--root", "src", cwd=project.path) == "session.py"
    run = git_ctx("-C", project.path, "search", "-C", "src", "renew session", cwd=project.path.parent)
    assert run.text.startswith("session.py:")
    assert paths(search(git_ctx, project, "renew session", cwd=project.path / "src"))[0] == "src/session.py"


def test_nul_records(git_ctx, project):
    project.commit({b"odd\n\xff.py": "def paint_the_fence(colour):\n    return colour\n"})
    run = git_ctx("search", "paint the fence", "-z", "-n", "1", cwd=project.path)
    path, first, last, symbol, score, rest = run.out.split(b"\0")
    assert (path, first, last, rest) == (b"odd\n\xff.py", b"1", b"2", b"")
    assert symbol == b"paint_the_fence"
    assert 0 <= float(score) <= 1


def test_paths_that_are_not_utf8(git_ctx, project):
    project.commit({b"odd\xff.py": "def paint_the_fence(colour):\n    return colour\n"})
    text = git_ctx("search", "paint the fence", "-n", "1", cwd=project.path)
    assert text.text.startswith('"odd\\377.py":1-2:paint_the_fence\n')
    position = search(git_ctx, project, "paint the fence").json["results"][0]["result"]["sourcePosition"]
    assert (position["relativePath"], position["relativePathBytes"]) == ("odd\ufffd.py", "b2Rk/y5weQ==")


def test_a_reader_that_goes_away(project, environment):
    search = f"{sys.executable} -m ctx search session --json-output"
    command = f"{search} | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=project.path, env=environment, capture_output=True, text=True
    )
    assert done.stderr == ""
    assert done.stdout.strip() in ("0", "141")


def on_a_terminal(environment, cwd, *arguments):
    """Run with stdout and stderr on a pseudo-terminal; returns the status and all that was shown."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "ctx", *arguments],
        cwd=cwd,
        env=environment,
        stdin=slave,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # EIO: the last writer closed it
            break
        if not part:
            break
        shown += part
    os.close(master)
    return process.wait(), shown.decode()


def test_colours_on_a_terminal(environment, project):
    status, shown = on_a_terminal(environment, project.path, "search", "renew session", "-n", "1")
    assert status == 0
    assert "\x1b[" in shown
    assert "src/session.py" in shown
    plain_status, plain = on_a_terminal(
        {**environment, "NO_COLOR": "1"}, project.path, "search", "renew session", "-n", "1"
    )
    assert plain_status == 0
    assert "src/session.py:" in plain
    assert "\x1b[3" not in plain


def test_colours_when_asked_for(git_ctx, project):
    def coloured(*arguments, **env):
        return "\x1b[" in git_ctx("search", "session", *arguments, cwd=project.path, env=env).text

    assert coloured("--color=always")
    assert coloured(CLICOLOR_FORCE="1")
    assert not coloured("--color=never", CLICOLOR_FORCE="1")
    assert not coloured(CLICOLOR_FORCE="1", NO_COLOR="1")


def test_rich_and_highlighting_are_not_loaded_in_a_pipe(environment, project):
    program = (
        "import sys, ctx.cli.main\n"
        "ctx.cli.main.main(['search', 'session'])\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(loaded & {'rich', 'pygments', 'tree_sitter', 'httpx', 'usearch'}), file=sys.stderr)"
    )
    command = [sys.executable, "-c", program]
    for _ in range(2):
        done = subprocess.run(command, cwd=project.path, env=environment, capture_output=True, text=True)
    assert done.stderr == "[]\n"


def test_progress_is_one_line_that_is_erased_before_other_output(environment, project):
    status, shown = on_a_terminal(environment, project.path, "index")
    assert status == 0
    assert "\rindexing: " in shown
    assert "\r\x1b[Kindexed main " in shown
    assert all(len(state) < 100 for state in shown.split("\x1b[K")[:-1])
