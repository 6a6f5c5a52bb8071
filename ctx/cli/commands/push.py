"""`git ctx push`: publish snapshots on a remote."""

from __future__ import annotations

import click

from ctx.cli.commands import options
from ctx.cli.commands.json_output import print_json
from ctx.cli.commands.progress import Reporter, reporter_for
from ctx.errors import UsageError
from ctx.text.escaping import escape_control
from ctx.text.pluralize import pluralize

CONTENTS = (
    "the index is published: paths, names of definitions, headings and titles of tests in clear, offsets "
    "and vectors of the code, but no bodies of code; vectors can be turned back into words in part"
)
WITH_WORDS = (
    f"{CONTENTS}; also the words of each chunk with their counts, as hashes that a list of words can reverse"
)


@click.command(short_help="Publish the index on a remote, for others to fetch.")
@click.argument("remote", required=False)
@click.option("--revision", "revisions", multiple=True, metavar="REV", help="Publish REV; may be repeated.")
@click.option("--branches", is_flag=True, help="Publish the tips of all local branches.")
@click.option("--tags", is_flag=True, help="Publish all tags.")
@click.option("--all", "everything", is_flag=True, help="Both of these.")
@click.option("--with-words", is_flag=True, help="Publish the words of the code too, as hashes with numbers.")
@click.option("--compact", is_flag=True, help="Drop published snapshots instead; see the --keep options.")
@click.option(
    "--keep-branches", is_flag=True, help="With --compact: keep what the remote's branches lead to."
)
@click.option("--keep-tags", is_flag=True, help="With --compact: keep what the remote's tags lead to.")
@click.option(
    "--keep-last", type=click.IntRange(min=0), metavar="N", help="With --compact: keep the N newest commits."
)
@click.option(
    "--grace", metavar="TIME", help="With --compact: keep what was published since TIME; 14 days by default."
)
@options.json_output
@options.root
def command(
    remote: str | None,
    revisions: tuple[str, ...],
    branches: bool,
    tags: bool,
    everything: bool,
    with_words: bool,
    compact: bool,
    keep_branches: bool,
    keep_tags: bool,
    keep_last: int | None,
    grace: str | None,
    json_output: bool,
) -> int:
    """Publish the index of HEAD, or of what is named, on REMOTE under the ref refs/notes/ctx.

    REMOTE is the name of a remote, an address or a path; without it what the branch follows, or origin.
    Others fetch it with `git ctx fetch`. Only missing data is sent, and nothing is removed from the remote
    except by --compact.

    With --with-words those who fetch do not have to count words; otherwise they count them from the files.
    """
    import ctx

    chosen = bool(revisions or branches or tags or everything or with_words)
    keeps = keep_branches or keep_tags or keep_last is not None
    if compact and chosen:
        raise UsageError(
            "--compact publishes nothing: leave out --revision, --branches, --tags, --all and --with-words"
        )
    if not compact and (keeps or grace is not None):
        raise UsageError("--keep-branches, --keep-tags, --keep-last and --grace go with --compact")
    if compact and not keeps:
        raise UsageError("say what --compact shall keep: --keep-branches, --keep-tags, --keep-last N")
    with ctx.open(".") as index:
        if compact:
            from ctx.share.compact import Keep, compact_remote

            dropped = compact_remote(index, remote, Keep(keep_branches, keep_tags, keep_last or 0, grace))
            if json_output:
                print_json({"type": "compact_result", **dropped._asdict()})
            else:
                click.echo(
                    f"dropped {dropped.dropped:,} of {pluralize(dropped.dropped + dropped.kept, 'snapshot')} "
                    f"and {pluralize(dropped.clusters, 'cluster')}"
                    + (
                        f"; left alone, being of another version: {', '.join(dropped.strange)}"
                        if dropped.strange
                        else ""
                    )
                )
            return 0
        from ctx.share.push import Selection, push

        reporter = Reporter() if json_output else reporter_for()
        index.on_progress = reporter.progress
        with reporter:
            report = push(
                index,
                remote,
                Selection(revisions, branches or everything, tags or everything, with_words),
                announce=lambda what: click.echo(f"note: {WITH_WORDS if what.words else CONTENTS}", err=True),
            )
    if json_output:
        print_json(
            {
                "type": "push_result",
                "snapshots": report.snapshots,
                "clusters": report.clusters,
                "words": report.words,
                "bytes": report.size,
                "attempts": report.attempts,
                "tooLarge": [key.hex() for key in report.too_large],
                "wordless": [key.hex() for key in report.wordless],
            }
        )
        return 0
    if report.wordless:
        click.echo(
            f"warning: the words of {pluralize(len(report.wordless), 'cluster')} were left out, since files "
            "of theirs are not in this clone: `git ctx index --fetch` gets them",
            err=True,
        )
    for key in report.too_large:
        click.echo(f"warning: cluster {key.hex()} is too large to be shared and was left out", err=True)
    if report.snapshots or report.clusters or report.words:
        words = f" and the words of {report.words:,}" if report.words else ""
        text = (
            f"published {pluralize(report.snapshots, 'snapshot')} with "
            f"{pluralize(report.clusters, 'new cluster')}{words}, "
            f"{pluralize(report.size, 'byte')} before packing"
        )
    else:
        text = "the remote has all of it already"
    click.echo(escape_control(text))
    return 0
