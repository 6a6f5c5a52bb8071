"""`git ctx push`: publish snapshots on a remote."""

from __future__ import annotations

import click

from ctx.cli.commands import options
from ctx.cli.commands.printing import Result, fields_of, note
from ctx.cli.commands.progress import reporter_for
from ctx.errors import UsageError
from ctx.text.pluralize import pluralize

CONTENTS = (
    "the index is published on {}: paths, names of definitions, headings and titles of tests in clear, "
    "offsets, and vectors, which can be turned back into words in part; no bodies of code"
)
WITH_WORDS = (
    f"{CONTENTS}; also the words of each chunk with their counts, as hashes that a list of words can reverse"
)


@click.command
@click.argument("remote", required=False)
@click.option("--revision", "revisions", multiple=True, metavar="REV", help="Publish REV; may be repeated.")
@click.option("--branches", is_flag=True, help="Publish the tips of all local branches.")
@click.option("--tags", is_flag=True, help="Publish all tags.")
@click.option("--all", "everything", is_flag=True, help="Publish branches and tags.")
@click.option("--with-words", is_flag=True, help="Also publish the words of the code, as hashes with counts.")
@click.option("--compact", is_flag=True, help="Publish nothing; drop snapshots that no --keep option names.")
@click.option("--keep-branches", is_flag=True, help="With --compact: keep what branches of REMOTE lead to.")
@click.option("--keep-tags", is_flag=True, help="With --compact: keep what tags of REMOTE lead to.")
@click.option(
    "--keep-last", type=click.IntRange(min=0), metavar="N", help="With --compact: keep the N newest commits."
)
@click.option(
    "--grace", metavar="TIME", help="With --compact: keep what was published since TIME; 14 days by default."
)
@options.result
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
) -> Result:
    """Publish the index on a remote.

    Published is the index of HEAD, or of the named revisions, under the ref refs/notes/ctx. REMOTE is the
    name of a remote, an address or a path; by default the upstream of the branch, or origin. Others fetch it
    with `git ctx fetch`. Only missing data is sent, and nothing is removed from the remote except by
    --compact.

    With --with-words those who fetch need not count words; otherwise they count them from the files.
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

            dropped = compact_remote(
                index.session, remote, Keep(keep_branches, keep_tags, keep_last or 0, grace)
            )
            text = (
                f"dropped {dropped.dropped:,} of {pluralize(dropped.dropped + dropped.kept, 'snapshot')} "
                f"and {pluralize(dropped.clusters, 'cluster')} from {dropped.remote}"
            )
            if dropped.strange:
                text += f"; kept, made by another version: {', '.join(dropped.strange)}"
            return Result({"type": "compact_result", **fields_of(dropped, remote="remoteName")}, [text])
        from ctx.share.push import PushOptions, push

        reporter = reporter_for()
        index.session.on_progress = reporter.progress
        with reporter:
            report = push(
                index.session,
                remote,
                PushOptions(revisions, branches or everything, tags or everything, with_words),
                announce=lambda name, words: note((WITH_WORDS if words else CONTENTS).format(name)),
            )
    if report.without_words:
        note(
            f"the words of {pluralize(len(report.without_words), 'cluster')} were left out, because some of "
            "their files are not in this clone: `git ctx index --fetch` fetches them",
            "warning",
        )
    for key in report.too_large:
        note(f"cluster {key.hex()} is too large to be shared and was left out", "warning")
    words = f" and the words of {report.words:,}" if report.words else ""
    text = (
        f"published {pluralize(report.snapshots, 'snapshot')} with "
        f"{pluralize(report.clusters, 'new cluster')}{words} on {report.remote}, "
        f"{pluralize(report.size, 'byte')} before packing"
    )
    if not (report.snapshots or report.clusters or report.words):
        text = f"{report.remote} already has all of it"
    fields = fields_of(report, remote="remoteName", size="bytes", without_words="wordless")
    return Result({"type": "push_result", **fields}, [text])
