"""Tests of updates: edited files are sent, unchanged ones are referred to, old excerpts are discarded."""

from __future__ import annotations

import json
import os

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings
from shop_project import FILES, TASK

from ctx.pack.manifest import decode, encode, manifest
from ctx.pack.types import PackOptions
from ctx.pack.updating import UpdateOptions

SESSION = str(FILES["shop/session.py"])


@pytest.fixture
def parent(index):
    made = index.pack(TASK)
    index.packs.write(made.pack, made.prompt)
    return made.pack


def states(made):
    return {file.path: file.state for file in made.pack.files}


def test_update_without_edits_sends_no_excerpts(index, parent):
    made = index.update_pack(parent)
    assert set(states(made).values()) == {"unchanged"}
    assert "def renew_session" not in made.prompt
    assert f"An update of pack {parent.slug}" in made.prompt
    assert made.pack.delta is not None
    assert (made.pack.delta.removed, made.pack.delta.stale) == ((), ())


def test_update_sends_only_the_edited_file(index, parent, shop):
    shop.write({"shop/session.py": SESSION.replace("raise UnknownSession(token)", "raise UnknownSession()")})
    made = index.update_pack(parent)
    assert states(made) == {
        file.path: "changed" if file.path == "shop/session.py" else "unchanged" for file in parent.files
    }
    assert "raise UnknownSession()" in made.prompt
    assert "def touch_on_request" not in made.prompt
    assert "Discard its excerpts of shop/session.py" in made.prompt
    old = next(file for file in parent.files if file.path == "shop/session.py")
    (stale,) = made.pack.delta.stale
    assert stale.citation.startswith(old.blob[:12])
    assert manifest(made.pack)["changes"]["changed"] == ["shop/session.py"]


def test_update_with_deleted_and_new_files(index, parent, shop):
    shop.write({
        "shop/login.py": None,
        "shop/again.py": "def renew_session_again(token):\n    raise UnknownSession(token)\n",
    })  # fmt: skip
    made = index.update_pack(parent)
    written = manifest(made.pack)
    assert written["changes"]["added"] == ["shop/again.py"]
    assert written["changes"]["removed"] == [{"path": "shop/login.py", "reason": "deleted"}]
    assert "shop/login.py (deleted)" in made.prompt
    assert "def renew_session_again" in made.prompt
    assert [one["path"] for one in written["staleCitations"]] == ["shop/login.py"]
    assert {(one["sourcePath"], one["targetPath"], one["symbol"]) for one in written["staleReferences"]} >= {
        ("shop/login.py", "shop/session.py", "SessionStore")
    }
    assert all(
        "shop/login.py" in (one["sourcePath"], one["targetPath"]) for one in written["staleReferences"]
    )


def test_lost_edges_are_stale_references(index, parent, shop):
    recorded = {(one.source_path, one.target_path, one.symbol) for one in parent.edges}
    used = (b"shop/session.py", b"shop/clock.py", "monotonic_seconds")
    kept = (b"shop/login.py", b"shop/session.py", "SessionStore")
    assert recorded >= {used, kept}
    assert decode(encode(parent)) == parent
    # The text of both files changes; only the use that was removed is reported.
    changed = SESSION.replace("from shop.clock import monotonic_seconds\n", "").replace(
        "monotonic_seconds()", "0.0"
    )
    shop.write({"shop/session.py": changed})
    made = index.update_pack(parent)
    assert {(one.source_path, one.target_path, one.symbol) for one in made.pack.delta.lost} == {used}
    (stale,) = manifest(made.pack)["staleReferences"]
    assert (stale["sourcePath"], stale["targetPath"]) == ("shop/session.py", "shop/clock.py")
    assert (stale["relation"], stale["symbol"]) == ("imports", "monotonic_seconds")
    assert decode(encode(made.pack)) == made.pack
    # The next update compares with this one, which no longer has the edge.
    index.packs.write(made.pack, made.prompt)
    assert index.update_pack(made.pack).pack.delta.lost == ()


def test_a_definition_that_is_renamed_is_a_stale_reference(index, parent, shop):
    calls = (b"shop/login.py", b"shop/session.py", "renew_session")
    assert calls in {(one.source_path, one.target_path, one.symbol) for one in parent.edges}
    shop.write({"shop/session.py": SESSION.replace("def renew_session", "def prolong_session")})
    lost = index.update_pack(parent).pack.delta.lost
    assert calls in {(one.source_path, one.target_path, one.symbol) for one in lost}
    assert all(one.symbol == "renew_session" for one in lost)


def test_a_comment_makes_no_reference_stale(index, parent, shop):
    shop.write({"shop/clock.py": "# Time.\n" + str(FILES["shop/clock.py"])})
    assert index.update_pack(parent).pack.delta.lost == ()


def test_an_older_manifest_is_read(index, parent, shop):
    """Manifests of 0.1.0 have a name in `revision`, no terms, no edges, and citations as stale references."""
    shop.write({"shop/login.py": None})
    made = index.update_pack(parent)
    value = json.loads(encode(made.pack))
    value["revision"] = value.pop("revisionName")
    value["staleReferences"] = value.pop("staleCitations")
    del value["queryTerms"], value["dependencies"]
    old = decode(json.dumps(value).encode())
    assert old == made.pack._replace(query_terms=(), edges=(), delta=made.pack.delta._replace(lost=()))
    assert old.delta.stale
    index.packs.write(old, made.prompt)
    assert index.update_pack(index.packs.read(old.slug)).pack.delta.lost == ()


def test_a_file_is_compared_by_hash_when_size_and_time_are_equal(index, parent, shop):
    path = shop.path / "shop/clock.py"
    before = path.stat()
    path.write_text(path.read_text().replace("time.monotonic()", "time.monolithic"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size - 1
    path.write_text(path.read_text() + "#")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert states(index.update_pack(parent))["shop/clock.py"] == "changed"


def test_unset_options_are_inherited(index, shop):
    options = PackOptions(700, 3, "cl100k_base", "xml")
    first = index.pack(TASK, options, log='  File "shop/clock.py", line 8, in monotonic_seconds\n')
    index.packs.write(first.pack, first.prompt)
    made = index.update_pack(first.pack)
    assert (made.pack.options, made.pack.task, made.pack.hints) == (options, TASK, first.pack.hints)
    made = index.update_pack(first.pack, UpdateOptions(budget=900))
    assert made.pack.options == options._replace(budget=900)


def test_another_task_selects_again_and_refers_to_unchanged_excerpts(index, parent):
    made = index.update_pack(parent, UpdateOptions(task=TASK + ", and how is the Invoice rendered"))
    assert states(made)["shop/session.py"] == "unchanged"
    assert states(made)["shop/invoice.go"] == "added"
    assert "func (i Invoice) Total" in made.prompt
    assert "def renew_session" not in made.prompt
    made = index.update_pack(parent, UpdateOptions(task="how is an Invoice rendered", max_files=1))
    gone = {(one.path, one.reason) for one in made.pack.delta.removed}
    assert ("shop/login.py", "not selected") in gone


def test_another_tokenizer_is_used_for_counting(index, parent):
    made = index.update_pack(parent, UpdateOptions(tokenizer="cl100k_base"))
    assert made.pack.options.tokenizer == "cl100k_base"
    assert set(states(made).values()) == {"unchanged"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"excerptStrategy": 0}, "another way"),
        ({"excerptStrategy": None}, "another way"),
        ({}, "what its sources were"),
    ],
)
def test_incomparable_parent_causes_one_complete_refresh(index, parent, change, words):
    value = json.loads(encode(parent)) | change
    if not change:
        for file in value["files"]:
            file["sourceHash"] = None
    made = index.update_pack(decode(json.dumps(value).encode()))
    assert words in made.pack.delta.complete
    assert set(states(made).values()) == {"unchanged" if change else "changed"}
    assert "def renew_session" in made.prompt
    assert "discard all of its excerpts" in made.prompt
    index.packs.write(made.pack, made.prompt)
    again = index.update_pack(made.pack)
    assert again.pack.delta.complete is None
    assert set(states(again).values()) == {"unchanged"}


def test_missing_grandparent_causes_a_complete_refresh(index, parent, shop):
    made = index.update_pack(parent)
    index.packs.write(made.pack, made.prompt)
    assert index.update_pack(made.pack).pack.delta.complete is None
    folder = shop.path / ".git/ctx/packs" / parent.slug
    for file in folder.iterdir():
        file.unlink()
    again = index.update_pack(made.pack)
    assert again.pack.delta.complete == f"it is an update of {parent.slug}, which is gone"
    assert "def renew_session" in again.prompt


def test_complete_refresh_states_what_has_changed(index, parent, shop):
    """States follow the contents; unchanged files are sent too, and their citations stay valid."""
    shop.write({"shop/session.py": SESSION.replace("raise UnknownSession(token)", "raise UnknownSession()")})
    made = index.update_pack(parent._replace(strategy=0))
    assert made.pack.delta.complete is not None
    assert states(made)["shop/session.py"] == "changed"
    assert states(made)["shop/login.py"] == "unchanged"
    assert "- shop/login.py (unchanged)" in made.prompt
    assert "def touch_on_request" in made.prompt
    assert {one.path for one in made.pack.delta.stale} == {"shop/session.py"}


EDITS = {
    "shop/session.py": ("self.lifetime = lifetime", "self.lifetime = lifetime + 1"),
    "shop/clock.py": ("return time.time()", "return time.time_ns()"),
    "shop/login.py": ("store.renew_session(token)", "store.renew_session(str(token))"),
    "tests/test_session.py": ("> 60", "> 61"),
    "shop/invoice.go": ("Cents  int", "Cents  int64"),
    "docs/guide.md": ("once a month", "twice a month"),
}


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=st.sets(st.sampled_from(sorted(EDITS))), budget=st.sampled_from([400, 700, 8_000]))
def test_only_edited_files_are_sent(index, shop, edits, budget):
    shop.write(dict(FILES))
    first = index.pack(TASK, PackOptions(budget))
    shop.write({name: str(FILES[name]).replace(*EDITS[name]) for name in edits})
    made = index.update_pack(first.pack)
    assert made.pack.tokens <= budget
    sent = {path for path, state in states(made).items() if state != "unchanged"}
    assert sent <= edits
    had = {file.path for file in first.pack.files if file.excerpts}
    assert had & edits <= sent | {one.path for one in made.pack.delta.removed}
    for path in had - edits:
        assert f"## {path}" not in made.prompt
    assert made.pack == index.update_pack(first.pack).pack
