"""Progress of an indexing run: a bar on a terminal, lines in a log, JSON for programs, or nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from ctx.cli.commands.json_output import print_json
from ctx.text.pluralize import pluralize
from ctx.types import IndexReport, Progress

if TYPE_CHECKING:
    import rich.progress

LOG_INTERVAL = 5.0
"""Seconds between two lines in a log."""


class Reporter:
    """Base class that prints nothing. `progress` is the callback for the engine, None if it is not needed."""

    progress: Callable[[Progress], None] | None = None

    def __enter__(self) -> Reporter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Erase the progress bar, if any; a second call does nothing."""


def reporter_for(*, json_output: bool = False, silent: bool = False, plain: bool = False) -> Reporter:
    """Return the reporter for the options of a command and the kind of stderr."""
    if json_output:
        return JsonLines()
    if silent:
        return Reporter()
    if plain:
        return Log()
    return Bar() if sys.stderr.isatty() else Reporter()


class Bar(Reporter):
    """Bar on stderr with files, chunks per second and the time left; it appears with the first step."""

    def __init__(self) -> None:
        self.bar: rich.progress.Progress | None = None
        self.task: rich.progress.TaskID | None = None
        self.start = time.monotonic()
        self.progress = self.step

    def step(self, state: Progress) -> None:
        """Show one state."""
        if self.bar is None or self.task is None:
            self.open()
        if self.bar is not None and self.task is not None:
            rate = state.chunks / max(time.monotonic() - self.start, 1e-3)
            words = f"{rate:,.0f} chunks/s{spent(state)}"
            self.bar.update(self.task, completed=state.files_done, total=state.files_total, rate=words)

    def open(self) -> None:
        """Draw the empty bar."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self.start = time.monotonic()
        self.bar = Progress(
            TextColumn("indexing"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("files  {task.fields[rate]}"),
            TimeRemainingColumn(),
            console=Console(file=sys.stderr),
            transient=True,
        )
        self.bar.start()
        self.task = self.bar.add_task("indexing", total=None, rate="")

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()
            self.bar = self.task = None
            self.progress = None


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
        rate = state.chunks / max(now - self.start, 1e-3)
        sys.stderr.write(
            f"indexing: {state.files_done:,} of {pluralize(state.files_total, 'file')} ({percent}%), "
            f"{pluralize(state.chunks, 'chunk')}, {rate:,.0f} chunks/s{spent(state)}\n"
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
        if self.percent < 0:
            self.percent = 0
            print_json({"type": "progress", "percent": 0})
        if percent > self.percent:
            self.percent = percent
            print_json({"type": "progress", "percent": percent})

    def finished(self, report: IndexReport) -> None:
        """Print the result of the run."""
        if report.skipped:
            print_json({"type": "skipped", "reason": report.skipped})
            return
        self.rise(100)
        remote = {}
        if report.remote is not None:
            remote["remote"] = {
                "model": report.remote.model,
                "embedded": report.remote.embedded,
                "reused": report.remote.reused,
                "cut": report.remote.cut,
            }
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


def spent(state: Progress) -> str:
    """Return the tokens that a remote model has read so far and their cost, both estimated."""
    if not state.tokens:
        return ""
    cost = f", about ${state.cost:.2f}" if state.cost else ""
    return f", about {pluralize(state.tokens, 'token')}{cost}"
