"""`git ctx hook-run`, started by git hooks: indexes in the background and returns immediately."""

from __future__ import annotations

import click


@click.command(hidden=True, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1)
def command(arguments: tuple[str, ...]) -> int:
    """Index in the background what is checked out; ARGUMENTS are those that git gave the hook."""
    from ctx.maintenance.background.run import event_of, run_detached

    if (event := event_of(arguments)) is not None:
        run_detached(event)
    return 0
