"""The shipped models are those of the manifest, whose commands make them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
MANIFEST = ROOT / "tests" / "training" / "models.json"


def test_every_model_is_that_of_the_manifest() -> None:
    listed = {one["model"]: one for one in json.loads(MANIFEST.read_text(encoding="utf-8"))}
    shipped = {str(path.relative_to(ROOT)) for path in (ROOT / "ctx").rglob("*.bin")}
    assert set(listed) == shipped
    for path, one in listed.items():
        assert hashlib.sha256((ROOT / path).read_bytes()).hexdigest() == one["sha256"], path
        for name in one["inputs"]:
            if "/" in name and "," not in name and " " not in name:
                assert (ROOT / name).exists(), name
