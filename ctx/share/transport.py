"""The bare repository that transports an index to and from a remote.

It is at `ctx/share.git` and holds nothing that cannot be fetched or made again. The tip of the ref is
fetched without history and, if the server supports filters, without blobs; these are fetched by id in one
request.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from ctx.errors import CtxError, RemoteFailed, StoreUnusable
from ctx.git import process
from ctx.git.repository import Repository
from ctx.indexing.lock import open_lock
from ctx.share.layout import LARGEST_BLOB, REF, SNAPSHOTS, WORDS
from ctx.share.remote import ShareGit, Unsound, find_remote
from ctx.storage.regular_files import discard_file, read_regular
from ctx.storage.store import Store

_MOST_PACKED, _MOST_LOOSE = 300, 60
"""Maximum number of pack files (two or three per pack), and of loose objects in one of 256 directories."""
_NO_FILTER = b"filtering not recognized by server"
_RACE = ("fetch first", "non-fast-forward", "stale info", "failed to update ref", "incorrect old value")
_RACE_MESSAGES = ("cannot lock ref", "reference already exists", "failed to lock", "is at ", "but expected")


MOST_FILES = 1_000_000
"""Maximum number of files under the ref: enough for a snapshot of several million files."""
_MOST_LISTED = 256 << 20
"""Maximum bytes of their listing by git (modes, ids and paths)."""


class _Endless(RemoteFailed):
    """The listing of the tip exceeds the limits, as a few nested trees can make it."""


class Tip(NamedTuple):
    """The remote's current commit of the ref, and the blob ids of its files by path."""

    commit: str
    files: Mapping[str, str]


class Pushed(NamedTuple):
    """Result of a push: accepted (`landed`), or lost to another push (`raced`). `why` is git's reason."""

    landed: bool
    raced: bool
    why: str


class ShareRepository:
    """The transport of one repository's index to and from one remote.

    `may_ask` lets git ask for a password on the terminal.
    """

    def __init__(
        self, repository: Repository, store: Store, remote: str | None, *, may_ask: bool = True
    ) -> None:
        """Initialize; `remote` as in `find_remote`."""
        self._repository = repository
        self._store = store
        self.remote = find_remote(repository, remote)
        self.path = os.path.join(store.path, "share.git")
        self.has_sent_all = False
        """True once the remote has sent its whole index although a part was requested."""
        self.tracking = f"refs/remotes/{self.remote.slug}/ctx"
        self._sent = f"refs/sent/{self.remote.slug}"
        self._agreed = os.path.join(self.path, "agreed")
        self._git = ShareGit(repository, self.remote, self.path, may_ask=may_ask)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of this repository; create it if it is missing."""
        handle = open_lock(self._store, "share.git.lock")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            self._prepare()
            yield
        except Unsound as error:
            self._recreate()
            raise StoreUnusable(f"{error}; it was recreated: run the command again") from error
        finally:
            os.close(handle)

    def _prepare(self) -> None:
        sound = self._git.run("rev-parse", "--is-bare-repository").stdout.strip() == b"true"
        if not sound or self._has_grown():
            self._recreate()

    def _recreate(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        shared = self._repository.settings.get("core.sharedRepository")
        options = [f"--object-format={self._repository.object_format}"]
        options += [f"--shared={shared}"] if shared else []
        created = self._git.run("init", "--quiet", "--bare", "--template=", *options)
        if created.returncode:
            raise StoreUnusable(f"{self.path} cannot be made: {process.error_message(created)}")

    def _has_grown(self) -> bool:
        """Return True if pushes and fetches have left too many objects here.

        git cannot collect them, since this repository is never complete.
        """
        objects = os.path.join(self.path, "objects")
        return (
            len(_names(os.path.join(objects, "pack"))) > _MOST_PACKED
            or len(_names(os.path.join(objects, "17"))) > _MOST_LOOSE
        )

    # -- the remote

    def remote_tip(self) -> str | None:
        """Return the remote's current commit of the ref, or None. Raises `RemoteFailed`."""
        return next((oid for oid, name in self._remote_refs(REF) if name == REF), None)

    def remote_commits(self, *, branches: bool, tags: bool) -> set[bytes]:
        """Return the commits of the remote's branches and tags. Raises `RemoteFailed`."""
        patterns = [*(["refs/heads/*"] if branches else []), *(["refs/tags/*"] if tags else [])]
        return {bytes.fromhex(oid) for oid, _ in self._remote_refs(*patterns)} if patterns else set()

    def _remote_refs(self, *patterns: str) -> list[tuple[str, str]]:
        """Return the ids and names of the remote's refs that match a pattern."""
        done = self._git.run("ls-remote", self.remote.name, *patterns, network=True)
        if done.returncode:
            raise self._git.failed("cannot be read", done)
        parts = (os.fsdecode(line).partition("\t") for line in done.stdout.splitlines())
        return [(oid, name) for oid, _, name in parts]

    def fetch_tip(self) -> Tip | None:
        """Fetch the tip with its trees; return None if the remote has no index."""
        if self.remote_tip() is None:
            self._git.run("update-ref", "-d", self.tracking)
            return None
        try:
            return self._fetched_tip()
        except _Endless:
            raise
        except (RemoteFailed, Unsound):
            # The remote just answered, so the local repository may be damaged.
            self._recreate()
            return self._fetched_tip()

    def _fetched_tip(self) -> Tip:
        refspec = f"+{REF}:{self.tracking}"
        done = self._fetch("--depth=1", "--filter=blob:none", self.remote.name, refspec)
        self.has_sent_all |= _NO_FILTER in done.stderr
        if done.returncode:
            # Bundles and plain files over HTTP support neither depth nor filters.
            self.has_sent_all = True
            done = self._fetch(self.remote.name, refspec)
        if done.returncode:
            raise self._git.failed("cannot be fetched from", done)
        commit = self._git.output("rev-parse", "--verify", f"{self.tracking}^{{commit}}").decode().strip()
        return Tip(commit, self._listing(commit))

    def fetch_blobs(self, oids: Iterable[str]) -> None:
        """Fetch the blobs that are missing here, in one request."""
        oids = list(dict.fromkeys(oids))
        if not oids:
            return
        here = set(self._git.output("cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split())
        missing = [oid for oid in oids if oid.encode() not in here]
        if not missing:
            return
        wanted = "".join(f"{oid}\n" for oid in missing).encode()
        # Otherwise git announces the tip as present, and the server sends nothing that it reaches.
        nothing_here = ("-c", "fetch.negotiationAlgorithm=noop")
        by_id = ("--filter=blob:none", "--stdin", self.remote.name)
        done = self._fetch(*by_id, stdin=wanted, settings=nothing_here)
        if done.returncode:
            # A server that does not serve objects by id sends the whole tip.
            self.has_sent_all = True
            done = self._fetch("--refetch", "--no-filter", self.remote.name, f"+{REF}:{self.tracking}")
        if done.returncode:
            raise self._git.failed("cannot be fetched from", done)

    def push(self, commit: str, *, lease: str | None = None) -> Pushed:
        """Push a commit to the ref, as a fast-forward or, with `lease`, by force over that commit."""
        done = self._push(f"{commit}:{REF}", lease)
        if done.returncode == 0:
            return Pushed(True, False, "")
        lines = done.stdout.decode("utf-8", "replace").splitlines()
        refusal = next((line for line in lines if line[:1] == "!"), "")
        if not refusal:
            raise self._git.failed("cannot be pushed to", done)
        why = refusal.rpartition("\t")[2]
        stderr = os.fsdecode(done.stderr)
        raced = any(phrase in why for phrase in _RACE) or any(
            phrase in why + stderr for phrase in _RACE_MESSAGES
        )
        server = (line.removeprefix("remote:") for line in stderr.splitlines() if line.startswith("remote:"))
        return Pushed(False, raced, " ".join(filter(None, map(str.strip, [why, *server]))))

    def delete(self) -> bool:
        """Delete the ref on the remote and its traces here; return True if it existed."""
        tip = self.remote_tip()
        for name in (self.tracking, f"{self._sent}/{SNAPSHOTS}", f"{self._sent}/{WORDS}"):
            self._git.run("update-ref", "-d", name)
        if tip is None:
            return False
        done = self._push(f":{REF}", tip)
        if done.returncode:
            raise self._git.failed("cannot be pushed to", done)
        return True

    def _push(self, refspec: str, lease: str | None) -> subprocess.CompletedProcess[bytes]:
        force = [f"--force-with-lease={REF}:{lease}"] if lease is not None else []
        arguments = ("push", "--porcelain", "--no-verify", *force, self.remote.name, refspec)
        return self._git.run(*arguments, network=True)

    # -- what is here

    def has_sent(self, what: str) -> bool:
        """Return True if data of that name was pushed from here to this remote before."""
        return self._git.run("rev-parse", "--quiet", "--verify", f"{self._sent}/{what}").returncode == 0

    def note_sent(self, what: str, commit: str) -> None:
        """Record that data of that name was pushed."""
        self._git.run("update-ref", f"{self._sent}/{what}", commit)

    def _listing(self, commit: str) -> dict[str, str]:
        found: dict[str, str] = {}
        size = 0
        with self._git.started("ls-tree", "-r", "-z", "--full-tree", commit) as (_, back):
            for line in process.records(back):
                size += len(line)
                if len(found) >= MOST_FILES or size > _MOST_LISTED:
                    raise _Endless(
                        f"the index at '{self.remote.shown}' lists more than {MOST_FILES:,} files, or "
                        f"longer paths than git-ctx writes; inspect {REF} there, or compact it"
                    )
                head, _, path = line.partition(b"\t")
                _, kind, oid = head.split(b" ")
                if kind == b"blob":
                    found[os.fsdecode(path)] = oid.decode()
        return found

    def message(self, commit: str) -> str:
        """Return the message of a commit."""
        return self._git.output("cat-file", "commit", commit).decode("utf-8", "replace").partition("\n\n")[2]

    def blobs(self, oids: Sequence[str]) -> Iterator[bytes | None]:
        """Yield the contents of blobs in order; None for one that is missing or above `LARGEST_BLOB`."""
        if not oids:
            return
        asked = "".join(f"{oid}\n" for oid in oids).encode()
        sizes = self._git.output(
            "cat-file", "--batch-check=%(objecttype) %(objectsize)", stdin=asked
        ).splitlines()
        good = [_is_ours(size) for size in sizes]
        with self._git.started("cat-file", "--batch") as (to, back):
            for fine, oid in zip(good, oids, strict=True):
                if not fine:
                    yield None
                    continue
                to.write(f"{oid}\n".encode())
                to.flush()
                head = back.readline().split()
                if not head:
                    break  # git exited because the object is corrupt
                size = int(head[2])
                content = back.read(size + 1)
                yield content[:size] if len(content) == size + 1 else None

    def blob_id(self, data: bytes) -> str:
        """Return the git id of a blob."""
        return hashlib.new(self._repository.object_format, b"blob %d\0" % len(data) + data).hexdigest()

    def signature(self, commit: str) -> str | None:
        """Return None if git accepts the signature of a commit, else its message."""
        done = self._git.run("verify-commit", commit)
        return None if done.returncode == 0 else process.error_message(done)

    def commit(
        self,
        parent: str | None,
        files: Mapping[str, bytes],
        message: str,
        *,
        keep: Mapping[str, str] | None = None,
        sign: bool = False,
    ) -> str:
        """Create a commit on top of `parent` with files added or replaced; return its id.

        Without a parent its tree is `files` alone, or `keep`: ids of existing blobs by path.
        """
        tree = self._tree(parent, files) if keep is None else self._kept(keep)
        options = [*(["-p", parent] if parent else []), *(["-S"] if sign else [])]
        variables = self._git.identity()
        done = self._git.run("commit-tree", tree, *options, stdin=message.encode(), variables=variables)
        if done.returncode:
            raise CtxError(f"the commit for {REF} cannot be made: {process.error_message(done)}")
        return done.stdout.decode().strip()

    def _tree(self, parent: str | None, files: Mapping[str, bytes]) -> str:
        scratch = f"refs/ctx/making-{os.getpid()}"
        with self._git.started("fast-import", "--quiet", "--force") as (to, _):
            to.write(b"commit %s\ncommitter git-ctx <> 0 +0000\ndata 0\n" % scratch.encode())
            if parent is not None:
                to.write(b"from %s\n" % parent.encode())
            for path, content in files.items():
                to.write(b"M 100644 inline %s\ndata %d\n" % (path.encode(), len(content)) + content + b"\n")
        tree = self._git.output("rev-parse", "--verify", f"{scratch}^{{tree}}").decode().strip()
        self._git.output("update-ref", "-d", scratch)
        return tree

    def _kept(self, keep: Mapping[str, str]) -> str:
        index = os.path.join(self.path, f"index-{os.getpid()}")
        variables = {"GIT_INDEX_FILE": index}
        lines = b"".join(b"100644 %s 0\t%s\0" % (oid.encode(), path.encode()) for path, oid in keep.items())
        try:
            self._git.output("update-index", "-z", "--index-info", stdin=lines, variables=variables)
            return self._git.output("write-tree", "--missing-ok", variables=variables).decode().strip()
        finally:
            discard_file(index)

    def agreed(self) -> set[str]:
        """Return the ids of blobs that are known to be equivalent to what is stored here."""
        return set((read_regular(self._agreed) or b"").decode("ascii", "replace").split())

    def agree(self, oids: Iterable[str]) -> None:
        """Record blobs that are equivalent to what is stored here."""
        known = self.agreed()
        more = known | set(oids)
        if len(more) > len(known):
            self._store.write_file(self._agreed, "".join(f"{oid}\n" for oid in sorted(more)).encode())

    def track(self, commit: str) -> None:
        """Record the remote's current commit."""
        self._git.run("update-ref", self.tracking, commit)

    def _fetch(
        self, *arguments: str, stdin: bytes | None = None, settings: Sequence[str] = ()
    ) -> subprocess.CompletedProcess[bytes]:
        plain = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance")
        return self._git.run(*settings, *plain, *arguments, stdin=stdin, network=True)


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _is_ours(header: bytes) -> bool:
    kind, _, size = header.partition(b" ")
    return kind == b"blob" and int(size) <= LARGEST_BLOB
