"""Insertion and removal of the block in any hook, without git."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx.maintenance.background.run import event_of
from ctx.maintenance.hooks import shims

OLDER = b"""# >>> git-ctx 0 >>>
(git-ctx index &) </dev/null >/dev/null 2>&1
# <<< git-ctx <<<"""

LINES = st.lists(
    st.sampled_from([b"#!/bin/sh", b"#!/bin/bash -e", b"echo x", b"", b"exit 1", b"# >>> git", b"\xff\xfe"]),
    max_size=6,
)


@given(lines=LINES, last_newline=st.booleans())
def test_insertion_and_removal_restore_the_hook(lines, last_newline):
    hook = b"\n".join(lines) + (b"\n" if last_newline and lines else b"")
    inside = shims.with_block(hook)
    assert shims.has_block(inside)
    assert not shims.is_torn(inside)
    assert shims.without_block(inside) == hook
    assert shims.with_block(inside) == inside
    assert not shims.is_ours(inside)
    first = inside.split(b"\n", 1)[0]
    assert first == hook.split(b"\n", 1)[0] if hook.startswith(b"#!") else inside.startswith(shims.block())


def test_older_blocks_are_replaced():
    hook = b"#!/bin/sh\n" + OLDER + b"\necho mine\n"
    assert shims.with_block(hook) == b"#!/bin/sh\n" + shims.block() + b"\necho mine\n"
    assert shims.is_ours(b"#!/bin/sh\n# Made by `git ctx init`, once.\n" + OLDER + b"\n")
    assert not shims.is_ours(hook)


def test_nothing_between_two_start_marks_is_removed():
    hook = b"#!/bin/sh\n# >>> git-ctx 0 >>>\necho mine\n" + shims.block() + b"\n"
    assert shims.without_block(hook) == b"#!/bin/sh\n# >>> git-ctx 0 >>>\necho mine\n"
    assert shims.is_torn(hook)
    assert shims.obstacle(hook) == "its git-ctx marks were edited"


@pytest.mark.parametrize(
    "first",
    [
        "#!/bin/sh",
        "#! /bin/sh -e",
        "#!/usr/bin/env bash",
        "#!/usr/bin/env -S A=b bash -e",
        "#!/bin/busybox sh",
        "#!/usr/local/bin/dash",
        "#!/bin/ksh",
        "",
        "echo no interpreter",
    ],
)
def test_hooks_that_accept_a_block(first):
    assert shims.obstacle(f"{first}\necho x\n".encode()) is None


@pytest.mark.parametrize(
    ("hook", "word"),
    [
        (b"#!/usr/bin/python3\n", "python3"),
        (b"#!/usr/bin/env node\n", "node"),
        (b"#!/bin/zsh\n", "zsh"),
        (b"#!/bin/sh\r\n", "sh\r"),
        (b"#!\n", "nothing"),
        (b"#!/bin/sh\n\0", "binary"),
        (b"\x7fELF\2\1\1\0", "binary"),
        (b"\xef\xbb\xbf#!/bin/sh\n", "byte order mark"),
    ],
)
def test_hooks_that_accept_no_block(hook, word):
    assert word in (shims.obstacle(hook) or "")


@pytest.mark.parametrize(
    ("arguments", "event"),
    [
        ([], "post-commit"),
        (["a", "b", "1"], "post-checkout"),
        (["a", "b", "0"], None),
        (["0"], "post-merge"),
        (["1"], "post-merge"),
        (["rebase"], "post-rewrite"),
        (["amend"], "post-rewrite"),
    ],
)
def test_arguments_determine_the_event(arguments, event):
    assert event_of(arguments) == event
