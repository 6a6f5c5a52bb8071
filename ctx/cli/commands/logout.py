"""`git ctx logout`: erase the key of a service from git's credential helpers."""

from __future__ import annotations

import click

from ctx.cli.commands import options
from ctx.cli.commands.login import service_of


@click.command(short_help="Have git's credential helpers forget the key of a remote model.")
@click.option("--url", metavar="URL", help="The service; ctx.embedder.url without it.")
@options.root
def command(url: str | None) -> int:
    """Have git's credential helpers forget the key of a service."""
    import ctx
    from ctx.models import secrets

    with ctx.open(".") as index:
        service = service_of(index.repository.settings, url)
        secrets.forget(index.repository, service)
    click.echo(f"the key for {service} is forgotten")
    return 0
