"""`git ctx show` prints what a citation names, today and later."""

from __future__ import annotations

import json
import subprocess

import pytest
from small_project import FILES, GitCtx, Project

LINES = str(FILES["src/session.py"]).splitlines()


def first_hit(git_ctx: GitCtx, project: Project, *arguments: str) -> dict[str, object]:
    found = git_ctx("search", "renew session", "--json-output", *arguments, cwd=project.path).json
    hit: dict[str, object] = found["results"][0]
    return hit


def test_a_citation_outlives_the_file(git_ctx: GitCtx, project: Project) -> None:
    hit = first_hit(git_ctx, project)
    project.repo.commit({"src/session.py": None, "other.py": "nothing = 1\n"})
    shown = git_ctx("show", hit["citation"], "--json-output", cwd=project.path).json
    assert shown["type"] == "show_result"
    (result,) = shown["results"]
    assert result["citation"] == hit["citation"]
    assert result["content"] == "\n".join(LINES[hit["contentStartLine"] - 1 : hit["contentEndLine"]])
    assert result["paths"] == []


def test_text_has_a_heading_and_numbers(git_ctx: GitCtx, project: Project) -> None:
    text = git_ctx("search", "renew session", cwd=project.path).lines
    cite = next(line.split()[1] for line in text if line.startswith("    cite "))
    blob, _, lines = cite.partition(":")
    assert len(blob) == 12
    shown = git_ctx("show", cite, cwd=project.path / "src").lines
    assert shown[0] == f"{cite}  session.py:{lines}"
    first, last = map(int, lines.split("-"))
    assert [line.split(None, 1) for line in shown[1:] if line.strip() != ""] == [
        [str(number), *([LINES[number - 1].strip()] if LINES[number - 1] else [])]
        for number in range(first, last + 1)
    ]


def test_plain_lines_of_several_citations(git_ctx: GitCtx, project: Project) -> None:
    blob = project.git("rev-parse", "HEAD:src/session.py")
    shown = git_ctx("show", "--plain", f"{blob[:8]}:3", f"{blob}:6-7", cwd=project.path)
    assert shown.text == "".join(LINES[number] + "\n" for number in (2, 5, 6))
    whole = git_ctx("show", "-p", blob, cwd=project.path)
    assert whole.text == str(FILES["src/session.py"])


def test_lines_that_are_not_committed(git_ctx: GitCtx, project: Project) -> None:
    project.repo.write({"src/fresh.py": "def fresh_session():\n    return 'fresh'\n"})
    hit = first_hit(git_ctx, project, "--", "src/fresh.py")
    shown = git_ctx("show", "-p", hit["citation"], cwd=project.path)
    assert shown.text == "def fresh_session():\n    return 'fresh'\n"
    (project.path / "src" / "fresh.py").unlink()
    gone = git_ctx("show", hit["citation"], cwd=project.path)
    assert gone.status == 128
    assert "there is no blob" in gone.err
    assert "never committed" in gone.err


def test_in_a_bare_repository(git_ctx: GitCtx, project: Project) -> None:
    bare = project.path.parent / "bare"
    subprocess.run(["git", "clone", "-q", "--bare", str(project.path), str(bare)], check=True)
    blob = project.git("rev-parse", "HEAD:src/retry.go")
    assert git_ctx("show", "-p", f"{blob}:1", cwd=bare).text == "package retry\n"
    assert git_ctx("show", f"{'0' * 40}:1", cwd=bare).status == 128


@pytest.mark.parametrize(
    ("citation", "status", "words"),
    [
        ("HEAD:src/session.py", 129, "is not a citation"),
        ("xyz", 129, "is not a citation"),
        ("{blob}:0", 129, "lines count from 1"),
        ("{blob}:9-3", 129, "lines 9 to 3"),
        ("{blob}:3-", 129, "is not a citation"),
        ("{blob}:900", 128, "there is no line 900"),
        ("{blob}:1-900", 128, "there is no line 900"),
        ("{commit}:1", 128, "is a commit, not a file"),
        ("{tree}:1", 128, "is a tree, not a file"),
        ("{logo}:1", 128, "is binary"),
        ("abcdabcdabcd:1-2", 128, "there is no blob abcdabcdabcd"),
    ],
)
def test_citations_that_cannot_be_shown(
    git_ctx: GitCtx, project: Project, citation: str, status: int, words: str
) -> None:
    named = {
        "blob": project.git("rev-parse", "HEAD:src/session.py"),
        "logo": project.git("rev-parse", "HEAD:logo.png"),
        "tree": project.git("rev-parse", "HEAD^{tree}"),
        "commit": project.git("rev-parse", "HEAD"),
    }
    run = git_ctx("show", citation.format(**named), "--json-output", cwd=project.path)
    assert run.status == status
    assert words in run.err
    assert json.loads(run.out)["exitCode"] == status


def test_ids_with_equal_prefixes_are_distinguished(git_ctx: GitCtx, project: Project) -> None:
    seen: dict[str, str] = {}
    for number in range(1000):
        oid = project.repo.git("hash-object", "-w", "--stdin", stdin=b"%d\n" % number).decode()
        if oid[:4] in seen:
            break
        seen[oid[:4]] = oid
    run = git_ctx("show", oid[:4], cwd=project.path)
    assert run.status == 128
    assert "several blobs begin with" in run.err
    assert oid[:12] in run.err


def test_a_text_that_is_not_utf8(git_ctx: GitCtx, project: Project) -> None:
    text = "first\nzweite Größe\nthird\n"
    project.repo.commit({"wide.txt": text.encode("utf-16"), "latin.txt": text.encode("latin-1")})
    for name in ("wide.txt", "latin.txt"):
        blob = project.git("rev-parse", f"HEAD:{name}")
        assert git_ctx("show", "-p", f"{blob}:2", cwd=project.path).text == "zweite Größe\n"
