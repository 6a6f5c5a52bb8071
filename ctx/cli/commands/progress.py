"""Progress of a run: one line on a terminal, lines in a log, JSON for programs, or nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from ctx.cli.commands.printing import fields_of, print_json
from ctx.text.escaping import escape_control
from ctx.text.pluralize import pluralize

if TYPE_CHECKING:
    from ctx.index import Index
    from ctx.indexing.reports import IndexReport
    from ctx.types import IndexPlan, Progress

NOTICEABLE = 1.0
"""Seconds of work from which indexing is announced."""
Self = TypeVar("Self", bound="Reporter")
LOG_INTERVAL = 5.0
LINE_INTERVAL = 0.1
"""Seconds between two lines in a log, and between two states of a line on a terminal."""


class Reporter:
    """Base class that prints nothing. `progress` is the callback for an indexing run, None without one."""

    progress: Callable[[Progress], None] | None = None

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def erase(self) -> None:
        """Erase the line, if any, before other output; it may be shown again."""

    def close(self) -> None:
        """Erase the line, if any, and show nothing more."""


def reporter_for(*, as_json: bool = False, silent: bool = False, plain: bool = False) -> Reporter:
    """Return the reporter for the options of a command and the kind of stderr."""
    if as_json:
        return JsonLines()
    if silent:
        return Reporter()
    return IndexCounter(plain=plain) if plain or sys.stderr.isatty() else Reporter()


@contextmanager
def open_index(reporter: Reporter) -> Iterator[Index]:
    """Open the index of the current directory; progress goes to the reporter, costs to stderr."""
    import ctx

    with reporter, ctx.open(".", on_progress=reporter.progress, on_plan=announce) as index:
        yield index


def announce(plan: IndexPlan) -> None:
    """Print the cost of indexing a revision before the search, if it is noticeable."""
    if plan.seconds >= NOTICEABLE:
        text = (
            f"indexing {plan.revision} first: {pluralize(plan.new_blobs, 'new blob')}, "
            f"about {pluralize(plan.chunks, 'chunk')} and {plan.seconds:,.0f} s of work "
            "(`git ctx plan` estimates it without indexing)"
        )
        print(escape_control(text), file=sys.stderr)


class Counter(Reporter):
    """One line on stderr, updated in place on a terminal; otherwise a new line every few seconds.

    `plain` means new lines from the start, on a terminal too.
    """

    def __init__(self, *, shown: bool = True, plain: bool = False) -> None:
        self.shown = shown
        self.in_place = sys.stderr.isatty() and not plain
        self.is_open = False
        self.start = time.monotonic()
        self.next = self.start + (0 if plain or self.in_place else LOG_INTERVAL)

    def show(self, text: str, *, last: bool = False) -> None:
        """Show a state of the run, unless the previous one is too recent and this is not the last."""
        now = time.monotonic()
        if not self.shown or (now < self.next and not last):
            return
        self.next = now + (LINE_INTERVAL if self.in_place else LOG_INTERVAL)
        if self.in_place:
            from shutil import get_terminal_size

            # A line that wraps could not be updated.
            text = text[: get_terminal_size().columns - 1]
        sys.stderr.write(f"\r{text}\x1b[K" if self.in_place else f"{text}\n")
        sys.stderr.flush()
        self.is_open = self.in_place

    def left(self, done: int, total: int) -> str:
        """Return `, about 12 s left` from the time that the first part took; "" before there is one."""
        if not self.in_place or not 0 < done < total:
            return ""
        seconds = max(time.monotonic() - self.start, 1e-3)
        return f", about {seconds * (total - done) / done:,.0f} s left"

    def erase(self) -> None:
        if self.is_open:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self.is_open = False

    def close(self) -> None:
        self.erase()
        self.shown = False


class IndexCounter(Counter):
    """Files, chunks per second and the time left of an indexing run."""

    def __init__(self, *, plain: bool = False) -> None:
        super().__init__(plain=plain)
        self.progress = self.step

    def step(self, state: Progress) -> None:
        """Show the progress."""
        if not state.files_done:
            self.start = time.monotonic()
        seconds = max(time.monotonic() - self.start, 1e-3)
        percent = 100 * state.files_done // max(state.files_total, 1)
        parts = [
            f"indexing: {state.files_done:,} of {pluralize(state.files_total, 'file')} ({percent}%)",
            pluralize(state.chunks, "chunk"),
            f"{state.chunks / seconds:,.0f} chunks/s",
        ]
        if state.tokens:
            parts.append(f"about {pluralize(state.tokens, 'token')}")
        if state.tokens and state.cost:
            parts.append(f"about ${state.cost:.2f}")
        self.show(
            ", ".join(parts) + self.left(state.files_done, state.files_total),
            last=state.files_done >= state.files_total and not self.in_place,
        )


class JsonLines(Reporter):
    """JSON lines on stdout: progress rising from 0 to 100, then the result."""

    def __init__(self) -> None:
        self.percent = -1
        self.progress = self.step

    def step(self, state: Progress) -> None:
        """Print the percentage of the run that is done, if it rose; 100 is printed only at the end."""
        share = state.files_done / max(state.files_total, 1) if state.share is None else state.share
        self.rise(min(99, int(100 * share + 1e-9)))

    def rise(self, percent: int) -> None:
        """Print a percentage larger than the last one; the first one printed is 0."""
        for value in (0, percent):
            if value > self.percent:
                self.percent = value
                print_json({"type": "progress", "percent": value})

    def finished(self, report: IndexReport) -> None:
        """Print the result of the run."""
        if report.skipped:
            print_json({"type": "skipped", "reason": report.skipped})
            return
        self.rise(100)
        remote = {"remote": fields_of(report.remote, truncated="cut", elsewhere="")} if report.remote else {}
        print_json(
            {
                "type": "finished",
                "totalClusters": report.total_clusters,
                "processedNewClusters": report.processed_new_clusters,
                "reusedClusters": report.reused_clusters,
                "embeddedChunks": report.embedded_chunks,
                "skippedFiles": report.skipped_files,
                "storage": report.storage,
                **remote,
            }
        )
