"""`git ctx status` and `git ctx remove-index` on a real repository, from outside."""

from __future__ import annotations

import os
import time


def test_status_before_anything_is_indexed(git_ctx, project):
    run = git_ctx("status", "--json-output", cwd=project.path)
    assert (run.status, run.err) == (0, "")
    status = run.json
    assert set(status) == {
        "type", "repositoryId", "storePath", "storeSizeBytes", "storage", "lentStores", "packs",
        "snapshots", "remoteModels", "catchUp", "message",
    }  # fmt: skip
    assert status["type"] == "status_result"
    assert status["snapshots"] == []
    assert status["catchUp"]["tree"] == project.git("rev-parse", "HEAD^{tree}")
    assert status["catchUp"]["covered"] is False
    assert status["catchUp"]["newBlobs"] > 0
    text = git_ctx("status", cwd=project.path)
    assert text.status == 0
    assert text.lines[0] == "nothing is indexed yet"
    assert "is not indexed" in text.lines[-1]


def test_status_of_what_is_indexed(git_ctx, project):
    before = int(time.time())
    git_ctx("index", cwd=project.path)
    project.git("tag", "v1")
    status = git_ctx("status", "--json-output", cwd=project.path).json
    (snapshot,) = status["snapshots"]
    assert set(snapshot) == {
        "tree", "status", "revisions", "provenance", "clusters", "files", "filesSizeKb", "linesOfCode",
        "chunks", "languages", "indexSizeBytes", "descriptor", "descriptorFields", "skippedFiles",
        "pinned",
    }  # fmt: skip
    assert snapshot["tree"] == project.git("rev-parse", "HEAD^{tree}")
    assert {"HEAD", "refs/heads/main", "refs/tags/v1"} == set(snapshot["revisions"])
    assert snapshot["files"] == 5
    assert snapshot["chunks"] >= 5
    assert snapshot["filesSizeKb"] > 0
    assert snapshot["linesOfCode"] > 40
    assert snapshot["indexSizeBytes"] > 0
    assert abs(sum(snapshot["languages"].values()) - 1) < 0.01
    assert sum(snapshot["skippedFiles"].values()) == 1
    fields = snapshot["descriptorFields"]
    assert list(fields) == ["scope", "embedModelId", "dimensions", "precision", "version"]
    assert "-".join(map(str, fields.values())) == snapshot["descriptor"]
    (made,) = snapshot["provenance"]
    assert made["commit"] == project.git("rev-parse", "HEAD")
    assert made["committerTime"] == int(project.git("log", "-1", "--format=%ct"))
    assert before <= made["createdAt"] <= time.time()
    assert made["toolVersion"]
    assert made["trigger"] == "manual"
    assert status["catchUp"]["covered"] is True
    assert status["storeSizeBytes"] > 0
    assert os.path.isdir(status["storePath"])
    text = git_ctx("status", cwd=project.path).text
    for part in ("main", "5 files", snapshot["descriptor"], "left out: 1 ", "is indexed"):
        assert part in text


def test_remove_index(git_ctx, project):
    git_ctx("index", cwd=project.path)
    status = git_ctx("status", "--json-output", cwd=project.path).json
    run = git_ctx("remove-index", "--json-output", cwd=project.path)
    assert (run.status, run.err) == (0, "")
    assert run.json == {
        "type": "remove_index_result",
        "repositoryId": status["repositoryId"],
        "removedSnapshots": 1,
        "snapshotsRemain": False,
    }
    assert git_ctx("status", "--json-output", cwd=project.path).json["snapshots"] == []
    again = git_ctx("remove-index", "--yes", cwd=project.path)
    assert (again.status, again.text) == (0, "removed 0 snapshots and all other index data\n")
    assert git_ctx("search", "renew session", cwd=project.path).status == 0
