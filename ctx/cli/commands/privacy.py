"""`git ctx privacy`: show the data sent to each host."""

from __future__ import annotations

import click

from ctx.cli.commands import options
from ctx.cli.commands.json_output import print_json
from ctx.text.escaping import escape_control
from ctx.text.pluralize import pluralize
from ctx.text.wording import size, when


@click.command(short_help="Show what was sent to remote models so far.")
@click.option("--all", "everything", is_flag=True, help="Of all repositories of this user.")
@options.json_output
@options.root
def command(everything: bool, json_output: bool) -> int:
    """Show hosts, bytes and numbers of texts that were sent to remote models, for this repository.

    `git config ctx.offline true` makes any such use an error.
    """
    import ctx
    from ctx.models.ledger import Ledger

    with ctx.open(".") as index:
        ledger = Ledger(index.repository.common_dir)
        sent = [one for one in ledger.read() if everything or one.repository == ledger.repository]
    if json_output:
        print_json(
            {
                "type": "privacy_result",
                "sent": [
                    {
                        "repository": one.repository,
                        "host": one.host,
                        "purpose": one.purpose,
                        "requests": one.requests,
                        "bytes": one.bytes_sent,
                        "texts": one.texts,
                        "first": one.first,
                        "last": one.last,
                    }
                    for one in sent
                ],
            }
        )
        return 0
    if not sent:
        click.echo("nothing was sent to any remote model")
    for one in sent:
        of = f" of {one.repository}" if everything else ""
        click.echo(
            escape_control(
                f"{one.host}  {one.purpose}{of}: {pluralize(one.texts, 'text')}, {size(one.bytes_sent)} in "
                f"{pluralize(one.requests, 'request')}, {when(one.first)} to {when(one.last)}"
            )
        )
    return 0
