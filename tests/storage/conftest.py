"""Settings of the property tests: no deadlines, which a busy machine would exceed."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "core", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("core")
