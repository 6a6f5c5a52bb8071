"""Packs are kept for the user alone, whole or not at all, and a slug leads to no other place."""

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


def test_a_pack_comes_back_as_it_was(index, made):
    slug = made.pack.slug
    for name in (slug, slug[:12], "latest"):
        assert index.packs.find(name) == slug
    pack = index.packs.read(slug)
    assert pack == made.pack
    assert index.packs.prompt(pack) == made.prompt
    assert decode(encode(pack)) == pack


def test_nobody_else_may_read_it(index, made, shop):
    packs = shop.path / ".git/ctx/packs"
    for path in (packs, packs / made.pack.slug):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    for file in (packs / made.pack.slug).iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert shop.git("status", "--porcelain") == b""


def test_in_a_shared_repository_it_is_still_for_the_user(shop):
    import ctx

    shop.git("config", "core.sharedRepository", "group")
    with ctx.open(shop.path) as index:
        made = index.pack(TASK)
        index.packs.write(made.pack, made.prompt)
        folder = shop.path / ".git/ctx/packs" / made.pack.slug
    assert folder.stat().st_mode & 0o777 == 0o700
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in folder.iterdir())


def test_writing_it_again_leaves_one(index, made):
    index.packs.write(made.pack, made.prompt)
    assert [one.slug for one in index.packs.list()] == [made.pack.slug]
    assert os.listdir(os.path.join(index.session.store.path, "tmp")) == []


def test_the_newest_is_the_latest(index, made):
    other = index.pack("how is an invoice rendered")
    index.packs.write(other.pack, other.prompt)
    assert [one.slug for one in index.packs.list()] == [other.pack.slug, made.pack.slug]
    assert index.packs.find("latest") == other.pack.slug


def test_an_ambiguous_beginning_names_those_that_are_meant(index, made):
    other = index.pack(TASK + " and more")
    index.packs.write(other.pack, other.prompt)
    with pytest.raises(CtxError, match="several packs begin with 'renew'") as error:
        index.packs.find("renew")
    assert made.pack.slug in str(error.value)


def test_nothing_there_is_said(index):
    for name, words in (("latest", "no pack yet"), ("abc", "there is no pack 'abc'")):
        with pytest.raises(CtxError, match=words):
            index.packs.find(name)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.one_of(st.text(max_size=80), st.from_regex(r"(\.\./|/|[a-z]-?|\x00|%2e|\\){1,12}")))
def test_no_name_leads_elsewhere(index, name):
    shelf = index.packs
    for ask in (shelf.find, shelf.read):
        with pytest.raises(CtxError):
            ask(name)
    assert not shelf.has(name)


@given(task=st.text(max_size=200), identity=st.text(max_size=20))
def test_every_task_has_a_slug_that_is_a_name(task, identity):
    slug = slug_for(task, identity)
    assert slug == slug_for(task, identity)
    assert set(slug) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert 8 <= len(slug) <= 64
    assert not slug.startswith("-")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_manifest_is_said_to_be_one(index, data):
    whole = getattr(test_a_damaged_manifest_is_said_to_be_one, "whole", None)
    if whole is None:
        whole = encode(index.pack(TASK).pack)
        test_a_damaged_manifest_is_said_to_be_one.whole = whole
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


def test_a_damaged_pack_is_told(index, made, shop):
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


def test_status_lists_it_and_fsck_leaves_it(index, made):
    (kept,) = index.status().packs
    assert kept.slug == made.pack.slug
    report = fsck.check(index.session)
    assert (report.findings, report.foreign) == ([], [])
    assert index.packs.has(made.pack.slug)


def test_a_collection_takes_the_old_ones(index, made, shop):
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


def test_where_nothing_may_be_written_nothing_is_half_written(index, monkeypatch):
    made = index.pack(TASK)

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(StoreUnusable, match="no room"):
        index.packs.write(made.pack, made.prompt)
    monkeypatch.undo()
    assert index.packs.list() == []
    assert os.listdir(os.path.join(index.session.store.path, "tmp")) == []
