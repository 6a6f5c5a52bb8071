"""Progress of a run: a bar or a counter on a terminal, lines in a log, JSON for programs, or nothing."""

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
    import rich.progress

    from ctx.index import Index
    from ctx.reports import IndexPlan, IndexReport, Progress

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

    def close(self) -> None:
        """Erase the progress bar, if any; a second call does nothing."""


def reporter_for(*, as_json: bool = False, silent: bool = False, plain: bool = False) -> Reporter:
    """Return the reporter for the options of a command and the kind of stderr."""
    if as_json:
        return JsonLines()
    if silent:
        return Reporter()
    if plain:
        return Log()
    return Bar() if sys.stderr.isatty() else Reporter()


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
    """One line on stderr, updated in place on a terminal; in a log a new line every few seconds."""

    def __init__(self, *, shown: bool = True, in_logs: bool = True) -> None:
        self.is_terminal = sys.stderr.isatty()
        self.shown = shown and (in_logs or self.is_terminal)
        self.is_open = False
        self.next = time.monotonic() + (0 if self.is_terminal else LOG_INTERVAL)

    def show(self, text: str) -> None:
        """Show a state of the run, unless the last one is too recent."""
        now = time.monotonic()
        if not self.shown or now < self.next:
            return
        self.next = now + (LINE_INTERVAL if self.is_terminal else LOG_INTERVAL)
        sys.stderr.write(f"\r{text}\x1b[K" if self.is_terminal else f"{text}\n")
        sys.stderr.flush()
        self.is_open = self.is_terminal

    def close(self) -> None:
        if self.is_open:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self.is_open = False


class Bar(Reporter):
    """Bar on stderr with files, chunks per second and the time left; it appears with the first step."""

    def __init__(self) -> None:
        self.bar: rich.progress.Progress | None = None
        self.start = time.monotonic()
        self.progress = self.step

    def step(self, state: Progress) -> None:
        """Show one state."""
        if self.bar is None:
            self.bar = self.opened()
        self.bar.update(
            self.bar.task_ids[0],
            completed=state.files_done,
            total=state.files_total,
            rate=rate(state, self.start),
        )

    def opened(self) -> rich.progress.Progress:
        """Draw the empty bar."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self.start = time.monotonic()
        bar = Progress(
            TextColumn("indexing"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("files  {task.fields[rate]}"),
            TimeRemainingColumn(),
            console=Console(file=sys.stderr),
            transient=True,
        )
        bar.start()
        bar.add_task("indexing", total=None, rate="")
        return bar

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()
            self.bar = self.progress = None


class Log(Reporter):
    """Plain lines on stderr, one at the start and then one every few seconds."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.next = 0.0
        self.progress = self.step

    def step(self, state: Progress) -> None:
        """Write the progress, unless the last line is too recent."""
        now = time.monotonic()
        if now < self.next and state.files_done < state.files_total:
            return
        self.next = now + LOG_INTERVAL
        percent = 100 * state.files_done // max(state.files_total, 1)
        sys.stderr.write(
            f"indexing: {state.files_done:,} of {pluralize(state.files_total, 'file')} ({percent}%), "
            f"{pluralize(state.chunks, 'chunk')}, {rate(state, self.start)}\n"
        )
        sys.stderr.flush()


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


def rate(state: Progress, start: float) -> str:
    """Return chunks per second since `start`, and the estimated tokens and cost of a model service."""
    text = f"{state.chunks / max(time.monotonic() - start, 1e-3):,.0f} chunks/s"
    if state.tokens:
        text += f", about {pluralize(state.tokens, 'token')}"
    return text + (f", about ${state.cost:.2f}" if state.tokens and state.cost else "")
