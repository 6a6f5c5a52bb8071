"""Formatting sizes and times for display."""

from __future__ import annotations

from datetime import datetime, timezone

LATEST = 1 << 35
"""Latest plausible time, about the year 3058."""
UNITS = ("B", "kB", "MB", "GB", "TB")


def format_size(count: float) -> str:
    """Return a number of bytes in a fitting decimal unit."""
    for unit in UNITS:
        if count < 1000 or unit == UNITS[-1]:
            break
        count /= 1000
    return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"


def format_time(seconds: int) -> str:
    """Return a time in the user's zone, to the minute."""
    if not 0 <= seconds < LATEST:
        return "at no known time"
    return datetime.fromtimestamp(seconds, timezone.utc).astimezone().strftime("%Y-%m-%d %H:%M")


def format_date(second: int) -> str:
    """Return a day in UTC; a time outside of the calendar is shown as a number."""
    try:
        return datetime.fromtimestamp(second, timezone.utc).strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):
        return f"@{second}"
