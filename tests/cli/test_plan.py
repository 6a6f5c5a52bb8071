"""`git ctx plan` says what indexing a revision costs, and does none of it."""

from __future__ import annotations

from small_project import GitCtx, Project

import ctx


def test_a_plan_counts_new_data_and_writes_nothing(git_ctx: GitCtx, project: Project) -> None:
    plan = git_ctx("plan", "--json-output", cwd=project.path).json
    assert plan["type"] == "plan_result"
    assert plan["covered"] is False
    assert plan["newBlobs"] == 4  # two of the six files are one blob, and a name says that one is a picture
    assert plan["newClusters"] == 1
    assert plan["tree"] == project.git("rev-parse", "HEAD^{tree}")
    assert set(plan["estimated"]) == {"chunks", "tokens", "seconds"}
    assert not (project.path / ".git" / "ctx").exists()


def test_stored_data_is_not_counted_again(git_ctx: GitCtx, project: Project) -> None:
    with ctx.open(project.path) as index:
        index.index()
    assert git_ctx("plan", cwd=project.path).text.endswith("is indexed: nothing to do\n")
    project.git("mv", "src", "source")
    project.commit({"new.py": "def brand_new():\n    return 1\n"})
    plan = git_ctx("plan", "--branch", "main", "--json-output", cwd=project.path).json
    assert (plan["newBlobs"], plan["sizeBytes"]) == (1, 30)
    assert plan["resolvedBy"] == "branch"
    text = git_ctx("plan", "HEAD", cwd=project.path).text
    assert "new blobs" in text
    assert "estimated" in text


def test_the_estimate_of_chunks_is_near(git_ctx: GitCtx, project: Project) -> None:
    with ctx.open(project.path) as index:
        index.index()
        known = index.status().snapshots[0]
    project.commit(
        {
            f"more/part{number}.py": f"def part_{number}(value):\n    return value * {number}\n"
            for number in range(40)
        }
    )
    with ctx.open(project.path) as index:
        planned = index.plan().chunks
        made = index.index().embedded_chunks
    assert known.chunks
    assert 0.2 * made <= planned <= 5 * made


def test_a_named_revision_is_indexed_and_its_cost_announced(git_ctx: GitCtx, project: Project) -> None:
    small = git_ctx("search", "session", "--revision", "HEAD", cwd=project.path)
    assert (small.status, small.err) == (0, "")
    words = " ".join(f"word{number}" for number in range(100))
    project.commit(
        {
            f"big/{name}.txt": "\n".join(f"{name} {line} {words}" for line in range(700))
            for name in ("one", "two", "three", "four", "five", "six")
        }
    )
    large = git_ctx("search", "session", "--revision", "HEAD", "--json-output", cwd=project.path)
    assert "indexing HEAD first: 6 new blobs" in large.err
    assert large.json["coverage"]["complete"] is True
    assert git_ctx("search", "session", "--revision", "HEAD", cwd=project.path).err == ""


def test_a_plan_of_nothing(git_ctx: GitCtx, project: Project) -> None:
    assert git_ctx("plan", "absent", cwd=project.path).status == 128
    assert git_ctx("plan", "HEAD", "--branch", "main", cwd=project.path).status == 129
