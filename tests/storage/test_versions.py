"""Files in the directory of an older version."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ctx.storage.views.paths import outdated

NAMES = st.sampled_from([b"v1", b"v2", b"v10", b"v0", b"av3", b"v", b"v1beta1", b"a", b"1"])


@given(st.lists(st.lists(NAMES, min_size=1, max_size=4).map(b"/".join), unique=True, max_size=12))
def test_a_newer_version_is_in_the_same_directory(paths: list[bytes]) -> None:
    def versions(path: bytes) -> list[tuple[bytes, int]]:
        parts = path.split(b"/")
        return [
            (b"/".join(parts[:place]), int(part[1:]))
            for place, part in enumerate(parts[:-1])
            if part[:1] == b"v" and part[1:].isdigit()
        ]

    every = [version for path in paths for version in versions(path)]
    wanted = [
        any(folder == other and number < newer for folder, number in versions(path) for other, newer in every)
        for path in paths
    ]
    ends = np.cumsum([len(path) for path in paths]).astype("<u4")
    assert outdated(b"".join(paths), ends).tolist() == wanted
