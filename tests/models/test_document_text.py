"""A path is capped so that both ends survive."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx.models.document_text import cap_path, with_path

P91 = "services/payments/gateway/src/main/kotlin/com/example/payments/gateway/RetryingPaymentClient.kt"[:91]
P150 = (
    "platform/backend/services/identity-and-access-management/src/main/java/com/example/platform/"
    "identity/sessions/refresh/internal/SessionRefreshTokenRotationPolicy.java"
)[:150]
P218 = (
    "monorepo/packages/frontend/applications/customer-support-console/src/features/conversations/components/"
    "message-composer/attachments/preview/renderers/documents/spreadsheets/__tests__/"
    "SpreadsheetAttachmentPreviewRenderer.test.tsx"
)[:218]


@pytest.mark.parametrize(
    ("path", "limit", "capped"),
    [
        ("src/a.py", 96, "src/a.py"),
        (P91, 96, P91),
        (
            P150,
            96,
            "platform/backend/services/identity-and-access-management/src/…/internal/SessionRefreshTokenRota",
        ),
        (
            P218,
            96,
            "monorepo/packages/frontend/applications/…/__tests__/SpreadsheetAttachmentPreviewRendere",
        ),
        ("one/two/three/four/name.py", 20, "one/…/four/name.py"),
        ("one/two/three/four/name.py", 16, "…/four/name.py"),
        ("one/two/three/four/name.py", 13, "name.py"),
        ("one/a-very-long-name-of-a-file.py", 12, "a-very…le.py"),
    ],
)
def test_both_ends_survive(path: str, limit: int, capped: str) -> None:
    assert cap_path(path, limit) == capped


@given(st.text(alphabet="ab/…é", min_size=1, max_size=260), st.integers(8, 120))
def test_no_path_is_longer_than_the_cap(path: str, limit: int) -> None:
    capped = cap_path(path, limit)
    assert len(capped) <= limit
    assert capped == path or len(path) > limit


def test_the_header_stands_before_the_text() -> None:
    assert with_path("src/a.py", "def a(): ...", 96) == "Filepath: src/a.py\n---\ndef a(): ..."
