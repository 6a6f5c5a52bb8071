"""Tests of the store of packs: private, atomic, and slugs that cannot name other paths."""

from __future__ import annotations

import json
import os
import stat
import time

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings
from shop_project import TASK

from ctx.errors import CtxError, StoreUnusable
from ctx.maintenance import fsck, gc
from ctx.pack.manifest import decode, encode
from ctx.pack.store import MANIFEST, slug_for


@pytest.fixture
def made(index):
    made = index.pack(TASK)
    index.packs.write(made.pack, made.prompt)
    return made


def test_stored_pack_is_read_back_unchanged(index, made):
    slug = made.pack.slug
    for name in (slug, slug[:12], "latest"):
        assert index.packs.find(name) == slug
    pack = index.packs.read(slug)
    assert pack == made.pack
    assert index.packs.prompt(pack) == made.prompt
    assert decode(encode(pack)) == pack


def test_pack_is_readable_only_by_its_user(index, made, shop):
    packs = shop.path / ".git/ctx/packs"
    for path in (packs, packs / made.pack.slug):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    for file in (packs / made.pack.slug).iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert shop.git("status", "--porcelain") == b""


def test_pack_in_a_shared_repository_is_readable_only_by_its_user(shop):
    import ctx

    shop.git("config", "core.sharedRepository", "group")
    with ctx.open(shop.path) as index:
        made = index.pack(TASK)
        index.packs.write(made.pack, made.prompt)
        folder = shop.path / ".git/ctx/packs" / made.pack.slug
    assert folder.stat().st_mode & 0o777 == 0o700
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in folder.iterdir())


def test_writing_a_pack_again_replaces_it(index, made):
    index.packs.write(made.pack, made.prompt)
    assert [one.slug for one in index.packs.list()] == [made.pack.slug]
    assert os.listdir(os.path.join(index.session.store.path, "tmp")) == []


def test_the_newest_is_the_latest(index, made):
    other = index.pack("how is an invoice rendered")
    index.packs.write(other.pack, other.prompt)
    assert [one.slug for one in index.packs.list()] == [other.pack.slug, made.pack.slug]
    assert index.packs.find("latest") == other.pack.slug


def test_ambiguous_prefix_lists_the_matches(index, made):
    other = index.pack(TASK + " and more")
    index.packs.write(other.pack, other.prompt)
    with pytest.raises(CtxError, match="several packs begin with 'renew'") as error:
        index.packs.find("renew")
    assert made.pack.slug in str(error.value)


def test_missing_pack_is_reported(index):
    for name, words in (("latest", "no pack yet"), ("abc", "there is no pack 'abc'")):
        with pytest.raises(CtxError, match=words):
            index.packs.find(name)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.one_of(st.text(max_size=80), st.from_regex(r"(\.\./|/|[a-z]-?|\x00|%2e|\\){1,12}")))
def test_names_cannot_lead_out_of_the_store(index, name):
    packs = index.packs
    for ask in (packs.find, packs.read):
        with pytest.raises(CtxError):
            ask(name)
    assert not packs.has(name)


@given(task=st.text(max_size=200), identity=st.text(max_size=20))
def test_every_task_has_a_slug_that_is_a_name(task, identity):
    slug = slug_for(task, identity)
    assert slug == slug_for(task, identity)
    assert set(slug) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert 8 <= len(slug) <= 64
    assert not slug.startswith("-")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_manifest_is_reported(index, data):
    whole = getattr(test_damaged_manifest_is_reported, "whole", None)
    if whole is None:
        whole = encode(index.pack(TASK).pack)
        test_damaged_manifest_is_reported.whole = whole
    value = json.loads(whole)
    key = data.draw(st.sampled_from(sorted(value)))
    value[key] = data.draw(
        st.one_of(st.none(), st.integers(), st.text(max_size=3), st.just([1]), st.just({}))
    )
    for damaged in (json.dumps(value).encode(), whole[: data.draw(st.integers(0, len(whole) - 2))]):
        try:
            decode(damaged)
        except CtxError:
            pass


def test_damaged_pack_is_reported(index, made, shop):
    file = shop.path / ".git/ctx/packs" / made.pack.slug / MANIFEST
    file.write_bytes(b"{}")
    with pytest.raises(CtxError, match="damaged"):
        index.packs.read(made.pack.slug)
    value = json.loads(encode(made.pack)) | {"schemaVersion": 99}
    file.write_bytes(json.dumps(value).encode())
    with pytest.raises(CtxError, match="newer git-ctx"):
        index.packs.read(made.pack.slug)
    file.unlink()
    assert index.packs.list() == []


def test_status_lists_packs_and_fsck_keeps_them(index, made):
    (kept,) = index.status().packs
    assert kept.slug == made.pack.slug
    report = fsck.check(index.session)
    assert (report.findings, report.foreign) == ([], [])
    assert index.packs.has(made.pack.slug)


def test_collection_removes_old_packs(index, made, shop):
    fresh = index.pack("how is an invoice rendered")
    index.packs.write(fresh.pack, fresh.prompt)
    folder = shop.path / ".git/ctx/packs" / made.pack.slug
    old = time.time() - 30 * 86_400
    for file in folder.iterdir():
        os.utime(file, (old, old))
    report = gc.collect(index.session)
    assert report.removed["pack"] == 2
    assert not folder.exists()
    assert [one.slug for one in index.packs.list()] == [fresh.pack.slug]


def test_read_only_store_keeps_no_partial_pack(index, monkeypatch):
    made = index.pack(TASK)

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(StoreUnusable, match="no room"):
        index.packs.write(made.pack, made.prompt)
    monkeypatch.undo()
    assert index.packs.list() == []
    assert os.listdir(os.path.join(index.session.store.path, "tmp")) == []
