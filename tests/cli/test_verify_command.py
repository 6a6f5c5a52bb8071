"""`git ctx verify` on the command line."""

from __future__ import annotations

from small_project import GitCtx, Project


def test_a_revision_that_is_not_indexed_is_no_success(git_ctx: GitCtx, project: Project) -> None:
    project.repo.commit({"src/more.py": "def more():\n    return 1\n"}, "add more")
    git_ctx("index", cwd=project.path)
    assert git_ctx("verify", cwd=project.path).status == 0
    project.git("checkout", "-q", "--orphan", "other")
    project.git("rm", "-rfq", ".")
    project.repo.commit({"only.py": "def only():\n    return 2\n"}, "begin again")
    run = git_ctx("verify", cwd=project.path)
    assert run.status == 128
    assert "is not indexed" in run.err
    assert "git ctx index" in run.err
