"""`git ctx model`: keys of the configured model services, and what was sent to them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from ctx.cli.commands import options
from ctx.cli.commands.printing import Result, fields_of
from ctx.errors import CtxError, UsageError
from ctx.text.pluralize import pluralize
from ctx.text.wording import format_size, format_time

if TYPE_CHECKING:
    from ctx.git.settings import Settings

url_option = click.option("--url", metavar="URL", help="The service; ctx.embedder.url without it.")


@click.group(no_args_is_help=False)
@options.root
def command() -> None:
    """Manage the keys of model services; show what was sent."""


@command.command
@url_option
@options.root
def login(url: str | None) -> int:
    """Store the key of a service with git's credential helpers.

    The key is asked for on a terminal, and otherwise read from stdin. git-ctx itself does not store it. On
    machines without a helper, set GIT_CTX_API_KEY.
    """
    import ctx
    from ctx.models import secrets

    with ctx.open(".") as index:
        service = service_of(index.repository.settings, url)
        if sys.stdin.isatty():
            key = click.prompt(f"Key for {service}", hide_input=True, err=True)
        else:
            key = sys.stdin.readline().strip()
        if not key:
            raise CtxError("no key was given, so nothing was stored")
        secrets.remember(index.repository, service, key)
    click.echo(f"the key for {service} is stored with git's credential helper")
    return 0


@command.command
@url_option
@options.root
def logout(url: str | None) -> int:
    """Erase the key of a service from git's credential helpers."""
    import ctx
    from ctx.models import secrets

    with ctx.open(".") as index:
        service = service_of(index.repository.settings, url)
        secrets.forget(index.repository, service)
    click.echo(f"the key for {service} is erased")
    return 0


@command.command
@options.result
def account() -> Result:
    """Show the configured model services and whether a key is known.

    They are the embedder, the reranker and the chat model. Nothing is sent. A key is never shown.
    """
    import ctx
    from ctx.models import secrets
    from ctx.models.settings import embedder_settings, expander_settings, reranker_settings

    with ctx.open(".") as index:
        settings = index.repository.settings
        services = {
            "embedder": embedder_settings(settings),
            "reranker": reranker_settings(settings),
            "expander": expander_settings(settings),
        }
        found: list[dict[str, Any]] = []
        for kind, service in services.items():
            if service is None:
                continue
            key = secrets.key_for(index.repository, kind, service.url)
            one = {"kind": kind, "url": service.url, "model": service.model, "dialect": service.dialect}
            if kind == "embedder" and index.session.embedding_model is not None:
                one["descriptor"] = str(index.session.embedding_model.descriptor)
            found.append(one | {"hasKey": key is not None})
    lines = []
    for one in found:
        key = "with a key" if one["hasKey"] else "without a key"
        lines.append(f"{one['kind']}  {one['model']} at {one['url']} ({one['dialect']}), {key}")
        if "descriptor" in one:
            lines.append(f"  its vectors are stored as {one['descriptor']}")
    none = "no model service is configured: the model of the package answers, and nothing is sent"
    return Result({"type": "account_result", "services": found}, lines or [none])


@command.command
@click.option("--all", "everything", is_flag=True, help="For all repositories of this user.")
@options.result
def privacy(everything: bool) -> Result:
    """Show what was sent to model services.

    Listed are hosts, bytes and numbers of texts, for this repository. `git config ctx.offline true` makes any
    such use an error.
    """
    import ctx
    from ctx.models.ledger import Ledger

    with ctx.open(".") as index:
        ledger = Ledger(index.repository.common_dir)
        sent = [one for one in ledger.read() if everything or one.repository == ledger.repository]
    fields = {"type": "privacy_result", "sent": [fields_of(one, bytes_sent="bytes") for one in sent]}
    lines = [
        f"{one.host}  {one.purpose}{f' of {one.repository}' if everything else ''}: "
        f"{pluralize(one.texts, 'text')}, {format_size(one.bytes_sent)} in "
        f"{pluralize(one.requests, 'request')}, {format_time(one.first)} to {format_time(one.last)}"
        for one in sent
    ]
    return Result(fields, lines or ["nothing was sent to any model service"])


def service_of(settings: Settings, url: str | None) -> str:
    """Return the address of the service that a key is for. Raises UsageError."""
    from ctx.models.settings import address

    found = url or settings.get("ctx.embedder.url") or settings.get("ctx.reranker.url")
    if not found:
        raise UsageError("which service? Give --url, or set ctx.embedder.url")
    return address(found)
