"""`git ctx account`: list the configured remote models, and if a key is known for each."""

from __future__ import annotations

from typing import Any

import click

from ctx.cli.commands import options
from ctx.cli.commands.json_output import print_json
from ctx.text.escaping import escape_control


@click.command(short_help="Show which remote models are configured, and whether there is a key.")
@options.json_output
@options.root
def command(json_output: bool) -> int:
    """Show the embedder, the reranker and the chat model that are configured, and whether a key is known.

    Nothing is sent. A key is never shown.
    """
    import ctx
    from ctx.models import secrets
    from ctx.models.settings import embedder_settings, expander_settings, reranker_settings

    with ctx.open(".") as index:
        settings = index.repository.settings
        embedder = embedder_settings(settings)
        found: list[dict[str, Any]] = []
        if embedder is not None and index.remote_model is not None:
            found.append(
                {
                    "kind": "embedder",
                    "url": embedder.url,
                    "model": embedder.model,
                    "dialect": embedder.dialect,
                    "descriptor": str(index.remote_model.descriptor),
                }
            )
        for kind, service in (
            ("reranker", reranker_settings(settings)),
            ("expander", expander_settings(settings)),
        ):
            if service is not None:
                found.append(
                    {"kind": kind, "url": service.url, "model": service.model, "dialect": service.dialect}
                )
        for one in found:
            one["hasKey"] = secrets.key_for(index.repository, one["kind"], one["url"]) is not None
    if json_output:
        print_json({"type": "account_result", "services": found})
        return 0
    if not found:
        click.echo("no remote model is configured: the model of the package answers, and nothing is sent")
    for one in found:
        key = "with a key" if one["hasKey"] else "without a key"
        click.echo(escape_control(f"{one['kind']}  {one['model']} at {one['url']} ({one['dialect']}), {key}"))
        if "descriptor" in one:
            click.echo(escape_control(f"  what it makes is kept as {one['descriptor']}"))
    return 0
