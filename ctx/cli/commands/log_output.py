"""Output of the log of background runs, as JSON and as text."""

from __future__ import annotations

from ctx.cli.commands.printing import Result, fields_of
from ctx.indexing.reports import ALREADY_INDEXED, INDEXING_IN_PROGRESS
from ctx.maintenance import local_log
from ctx.maintenance.background import log
from ctx.maintenance.background.run_lock import current_run
from ctx.text.pluralize import pluralize
from ctx.text.wording import format_time

SHOWN = 50
"""Maximum number of runs to show, the newest."""

SKIPPED = {ALREADY_INDEXED: "already indexed", INDEXING_IN_PROGRESS: "left to the process that is indexing"}


def result(directory: str) -> Result:
    """Return the last runs, oldest first, the current one, and the logged commands."""
    start, alive = current_run(directory)
    runs = log.read(directory)
    if start is not None and not alive:
        runs.append(log.killed(start))
    running = start if alive else None
    commands = local_log.read(directory)[-SHOWN:]
    fields = {
        "type": "log_result",
        "runs": [run_object(run) for run in runs[-SHOWN:]],
        "running": running and fields_of(running),
        "commands": [fields_of(entry) for entry in commands],
    }
    lines = [line for run in runs[-SHOWN:] for line in run_lines(run)]
    if running is not None:
        lines.append(f"{format_time(running.time)}  {running.trigger}: running, process {running.pid}")
    if not lines:
        lines = ["no hook has run yet; `git ctx init` installs the hooks"]
    lines += [command_line(entry) for entry in commands]
    return Result(fields, lines)


def run_object(run: log.Run) -> dict[str, object]:
    """Return a run as an object; times in seconds since 1970."""
    trees = [
        fields_of(tree, revision="revisionName", new_clusters="processedNewClusters")
        | {"revision": tree.tree}
        for tree in run.trees
    ]
    return fields_of(run) | {"trees": trees}


def run_lines(run: log.Run) -> list[str]:
    """Return a run as a line, and one more for each further tree."""
    head = f"{format_time(run.time)}  {run.trigger}"
    if run.events > 1:
        head += f" and {run.events - 1:,} more"
    results = [tree_text(tree) for tree in run.trees]
    if run.error:
        results.append(f"{run.outcome}: {run.error}")
    seconds = "" if run.outcome == log.KILLED else f" ({run.seconds:.1f} s)"
    first, *rest = results or ["nothing to do"]
    return [f"{head}: {first}{seconds}", *(f"    {line}" for line in rest)]


def command_line(entry: local_log.Entry) -> str:
    """Return one logged command as a line."""
    by = f", {entry.user}" if entry.user else ""
    time = format_time(entry.time)
    return f"{time}  git ctx {entry.command}: status {entry.status}{by} ({entry.seconds:.1f} s)"


def tree_text(tree: log.Covered) -> str:
    """Return the result for one tree."""
    # A detached HEAD is named by its commit.
    name = tree.revision[:12] if len(tree.revision) in (40, 64) else tree.revision
    what = f"{name} (tree {tree.tree[:12]})"
    if tree.skipped:
        return f"{what} {SKIPPED.get(tree.skipped, tree.skipped)}"
    return f"{what} {pluralize(tree.embedded_chunks, 'chunk')} embedded, {tree.reused_chunks:,} reused"
