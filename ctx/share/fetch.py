"""`git ctx fetch` without its command line: fetches the missing clusters of trees from a remote.

Keys are computed locally from trees, so a key determines the paths and blobs of its cluster; a cluster that
does not match its key is refused before it is stored.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from ctx.errors import CtxError, Damaged, Decoding, GitFailed, RemoteFailed
from ctx.git.repository import Repository
from ctx.share import layout
from ctx.share.layers import Layer, layers_of
from ctx.share.transport import ShareRepository
from ctx.storage.cluster_key import Member
from ctx.storage.clusters import document_key
from ctx.storage.document_index import DocumentIndex
from ctx.storage.partition import Cluster
from ctx.storage.sharing import mark_shared, requested_recently
from ctx.storage.views.catalog import SegmentWriter
from ctx.storage.views.segments import Key, Segment, SegmentPart, build

if TYPE_CHECKING:
    from ctx.search.session import SearchSession

Wanted = Callable[[Member], bool]
Refused = list[tuple[bytes, str]]
"""Keys of refused clusters, each with the reason."""

_NAMED = 3
"""Maximum number of refused clusters that a message names."""
SKIPPED = b"S "
"""Tag of `git ls-files -t` for a file that a sparse checkout leaves out."""


class FetchedWords(NamedTuple):
    """Words fetched with clusters: number of clusters, bytes, and the refused ones."""

    fetched: int
    size: int
    refused: Refused


class FetchedLayer(NamedTuple):
    """Result of a fetch for one layer, in clusters and bytes.

    `missing` clusters are not published; `refused` ones do not match their keys; `problem` is the reason why
    nothing was fetched. `model` is the name of the model of the service, "" for the built-in model. `words`
    is None if no words were published for these clusters.
    """

    model: str
    fetched: int
    size: int
    missing: int
    refused: Refused
    problem: str | None = None
    words: FetchedWords | None = None


class FetchReport(NamedTuple):
    """Result of a fetch from `remote`; `published` is False if it has no index.

    `whole` is True if the remote can only send its whole index. `own` is the layer of the built-in model,
    `service` that of a model service, None if none is configured.
    """

    remote: str
    published: bool
    whole: bool
    own: FetchedLayer
    service: FetchedLayer | None = None


def fetch(
    session: SearchSession,
    remote: str | None,
    revisions: Sequence[str] = (),
    *,
    paths: Sequence[str] = (),
    sparse: bool = False,
    may_ask: bool = True,
) -> FetchReport:
    """Fetch from a remote the missing clusters of trees (of HEAD by default).

    `paths` are git pathspecs; `sparse` selects the files of the sparse checkout.
    Raises `RemoteFailed`.
    """
    repository = session.repository
    names: Sequence[str | None] = revisions or [None]
    trees = [session.resolve(name).tree for name in names]
    if repository.settings.is_partial_clone:
        for tree in trees:
            _fetch_rules(repository, tree)
    requests = [(layer, layer.missing(trees, repository)) for layer in layers_of(session)]
    return _fetch(session, remote, requests, _wanted(repository, paths, sparse), may_ask)


def _fetch_rules(repository: Repository, tree: bytes) -> None:
    """Fetch into a partial clone the few files that determine the clusters of a tree."""
    from ctx.git.promised import fetch_missing

    # Without them most clusters are the same; the others count as missing.
    with suppress(GitFailed):
        fetch_missing(repository, tree, lambda: (), lambda _: None)


def fetch_on_miss(session: SearchSession, tree: bytes) -> str | None:
    """Fetch the missing clusters of a tree from the default remote, without asking for a password.

    Return a message if that failed.
    """
    try:
        # A search works without the shared index, so no error here may stop it.
        with Decoding("the shared index"):
            requests = [(layer, layer.missing([tree], session.reader)) for layer in layers_of(session)]
            (_, own), *others = requests
            if own or (any(missing for _, missing in others) and not requested_recently(session.store, tree)):
                report = _fetch(session, None, requests, None, may_ask=False)
                return _problem(report)
    except (CtxError, OSError, subprocess.SubprocessError) as error:
        why = " ".join(str(error).split()) or type(error).__name__
        return f"the shared index could not be used: {why}"
    return None


def _problem(report: FetchReport) -> str | None:
    """Return the warning of an implicit fetch, or None."""
    refused = [*report.own.refused, *(report.own.words.refused if report.own.words is not None else ())]
    if report.service is not None:
        refused += report.service.refused
        if report.service.problem is not None:
            return report.service.problem
    if not refused:
        return None
    named = "; ".join(f"cluster {key.hex()}: {why}" for key, why in refused[:_NAMED])
    more = f" and {len(refused) - _NAMED:,} more" if len(refused) > _NAMED else ""
    return f"invalid clusters of the shared index were refused and are rebuilt here: {named}{more}"


def _fetch(
    session: SearchSession,
    remote: str | None,
    requests: Sequence[tuple[Layer, Sequence[Cluster]]],
    wanted: Wanted | None,
    may_ask: bool,
) -> FetchReport:
    share = ShareRepository(session.repository, session.store, remote, may_ask=may_ask)
    must_be_signed = session.repository.settings.get_bool("ctx.requireSigned", False)
    with share.locked():
        tip = share.fetch_tip()
        if tip and must_be_signed and (problem := share.signature(tip.commit)) is not None:
            raise RemoteFailed(
                f"the index at '{share.remote.shown}' is not signed by a key that git trusts "
                f"({problem}): set ctx.requireSigned to false to take it anyway"
            )
        files = tip.files if tip else {}
        layers = [_fetch_layer(share, files, layer, missing, wanted) for layer, missing in requests]
    if any(layer.fetched for layer in layers):
        mark_shared(session.store)
        session.snapshots.forget_partial()
        _note_documents(session, requests[0][1])
    return FetchReport(share.remote.shown, tip is not None, share.has_sent_all, *layers)


def _fetch_layer(
    share: ShareRepository,
    files: Mapping[str, str],
    layer: Layer,
    missing: Sequence[Cluster],
    wanted: Wanted | None,
) -> FetchedLayer:
    keys = [one.key for one in missing if wanted is None or any(map(wanted, one.members))]
    paths = {key: layout.cluster_path(layer.name, key) for key in keys}
    oids = {key: files[path] for key, path in paths.items() if path in files}
    absent = len(keys) - len(oids)
    try:
        layer.check_model(share, files)
    except RemoteFailed as error:
        return FetchedLayer(layer.model_name, 0, 0, len(keys), [], str(error))
    words: dict[bytes, str] = {}
    if layer.catalog is not None:
        paths = {key: layout.words_path(layer.catalog.group, key) for key in oids}
        words = {key: files[path] for key, path in paths.items() if path in files}
    share.fetch_blobs([*oids.values(), *words.values()])

    def keep(key: bytes, data: bytes) -> None:
        layer.clusters.write(key, layer.checked(key, data))

    size, refused = _each(share, oids, keep, "it is too large for a cluster, or was not sent")
    for key, _ in refused:
        del oids[key]
        words.pop(key, None)
    share.agree(oids.values())
    counted = _fetch_words(share, layer, words) if words else None
    return FetchedLayer(layer.model_name, len(oids), size, absent, refused, None, counted)


def _each(
    share: ShareRepository, wanted: Mapping[bytes, str], keep: Callable[[bytes, bytes], None], absent: str
) -> tuple[int, Refused]:
    """Pass fetched blobs to `keep` by key; return the bytes kept, and the refused keys with the reasons.

    `keep` raises `Damaged` to refuse one; `absent` is the reason for a blob that is missing.
    """
    size = 0
    refused: Refused = []
    for key, data in zip(wanted, share.blobs(list(wanted.values())), strict=True):
        try:
            if data is None:
                raise Damaged(absent)
            with Decoding("it"):
                keep(key, data)
        except Damaged as error:
            refused.append((key, str(error)))
        else:
            size += len(data)
    return size, refused


def _fetch_words(share: ShareRepository, layer: Layer, wanted: Mapping[bytes, str]) -> FetchedWords:
    """Write segments of the words of fetched clusters, without documents that are already counted."""
    assert layer.catalog is not None, "only the layer that chunked the files has words"
    counted = [segment for _, segment in layer.catalog.segments()]
    writer = SegmentWriter(layer.catalog.add_segment)
    seen: set[Key] = set()

    def keep(key: bytes, data: bytes) -> None:
        _, part = layer.checked_words(key, data)
        if (own := _without(part, counted, seen)).documents:
            seen.update(own.documents)
            writer.add([own])

    size, refused = _each(share, wanted, keep, "its words are too large, or were not sent")
    writer.flush()
    return FetchedWords(len(wanted) - len(refused), size, refused)


def _without(part: SegmentPart, counted: Sequence[Segment], seen: Set[Key]) -> SegmentPart:
    """Return a part without documents of the segments `counted` and without those in `seen`."""
    found = [segment.find(part.documents) for segment in counted]
    left = [
        place
        for place, key in enumerate(part.documents)
        if key not in seen and all(one[place] < 0 for one in found)
    ]
    if len(left) == len(part.documents):
        return part
    return Segment(*build([part])).part(left)


def _note_documents(session: SearchSession, requested: Sequence[Cluster]) -> None:
    """Record fetched documents so that other trees can use them too."""
    lacking = set(session.clusters.absent(one.key for one in requested))
    documents = {
        document_key(member): one.key for one in requested if one.key not in lacking for member in one.members
    }
    DocumentIndex(session.store, str(session.descriptor)).add(documents, session.clusters)


def _wanted(repository: Repository, paths: Sequence[str], sparse: bool) -> Wanted | None:
    if not paths and not sparse:
        return None
    checked_out = _checked_out(repository) if sparse else None
    matches = None
    if paths:
        from ctx.git.pathspec import compile_pathspecs

        matches = compile_pathspecs(paths, repository.prefix, repository.work_tree)

    def wanted(member: Member) -> bool:
        return (checked_out is None or member.path in checked_out) and (
            matches is None or matches(member.path)
        )

    return wanted


def _checked_out(repository: Repository) -> set[bytes]:
    """Return the paths that a sparse checkout has on disk."""
    listing = repository.git("ls-files", "-t", "-z", "--full-name", ":/")
    return {line[2:] for line in listing.split(b"\0") if line and not line.startswith(SKIPPED)}
