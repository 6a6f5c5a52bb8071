"""The bare repository through which an index travels.

It lies at `ctx/share.git` and holds nothing that cannot be fetched or made again. The tip of the ref comes
without history and, where the server can, without the contents of files: those are asked for by their ids,
all at once.
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
from ctx.share.layout import LARGEST_BLOB, REF, SNAPSHOTS, WORDS
from ctx.share.remote import Remote
from ctx.share.running import ShareGit, Unsound
from ctx.storage.regular_files import open_regular
from ctx.storage.store import Store, unusable

_MOST_PACKED, _MOST_LOOSE = 300, 60
"""Files of packs, two or three each, and loose objects in one of 256 directories."""
_NO_FILTER = b"filtering not recognized by server"
_RACE = ("fetch first", "non-fast-forward", "stale info", "failed to update ref", "incorrect old value")
_RACE_SAID = ("cannot lock ref", "reference already exists", "failed to lock", "is at ", "but expected")


class Pushed(NamedTuple):
    """How a push ended: `landed`, or what to do about it. `why` is git's word for a refusal."""

    landed: bool
    raced: bool
    why: str


class ShareRepository:
    """The transport of one repository's index to and from one remote.

    `may_ask` lets git ask for a password on the terminal.
    """

    def __init__(self, repository: Repository, store: Store, remote: Remote, *, may_ask: bool = True) -> None:
        self._repository = repository
        self._store = store
        self.remote = remote
        self.path = os.path.join(store.path, "share.git")
        self.gives_parts = True
        """Off once the remote has given all of its index where a part was asked for."""
        self.tracking = f"refs/remotes/{remote.slug}/ctx"
        self._sent = f"refs/sent/{remote.slug}"
        self._listed: tuple[str, dict[str, str]] | None = None
        self._agreed = os.path.join(self.path, "agreed")
        self._git = ShareGit(repository, remote, self.path, may_ask=may_ask)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only process that uses this repository; make it where it is not there."""
        self._store.prepare()
        try:
            handle = self._store.permissions.open(self.path + ".lock", os.O_RDWR)
        except OSError as error:
            raise unusable(self._store.path, error) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            self._prepare()
            yield
        except Unsound as error:
            self._begin_anew()
            raise StoreUnusable(f"{error}; it was begun anew: run the command again") from error
        finally:
            os.close(handle)

    def _prepare(self) -> None:
        sound = self._git.run("rev-parse", "--is-bare-repository").stdout.strip() == b"true"
        if not sound or self._has_grown():
            self._begin_anew()

    def _begin_anew(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        shared = self._repository.config("core.sharedRepository")
        options = ["--quiet", "--bare", "--template=", *([f"--shared={shared}"] if shared else [])]
        created = self._git.run("init", *options, at_home=False)
        if created.returncode:
            raise StoreUnusable(f"{self.path} cannot be made: {process.complaint(created)}")

    def _has_grown(self) -> bool:
        """Whether so many pushes and fetches have left objects here that it is time to begin anew.

        git cannot collect them, since what lies here is never whole.
        """
        objects = os.path.join(self.path, "objects")
        return (
            len(_names(os.path.join(objects, "pack"))) > _MOST_PACKED
            or len(_names(os.path.join(objects, "17"))) > _MOST_LOOSE
        )

    # -- the remote

    def remote_tip(self) -> str | None:
        """The commit that the ref has on the remote now, None where there is none. Raises `RemoteFailed`."""
        done = self._git.run("ls-remote", self.remote.name, REF, network=True)
        if done.returncode:
            raise self._git.failed("cannot be read", done)
        for line in done.stdout.splitlines():
            oid, _, name = line.partition(b"\t")
            if name == REF.encode():
                return oid.decode()
        return None

    def remote_commits(self, *, branches: bool, tags: bool) -> set[bytes]:
        """The commits that the remote's branches and tags lead to. Raises `RemoteFailed`."""
        kinds = [*(["refs/heads/*"] if branches else []), *(["refs/tags/*"] if tags else [])]
        if not kinds:
            return set()
        done = self._git.run("ls-remote", self.remote.name, *kinds, network=True)
        if done.returncode:
            raise self._git.failed("cannot be read", done)
        return {bytes.fromhex(line.split(b"\t")[0].decode()) for line in done.stdout.splitlines()}

    def fetch_tip(self) -> str | None:
        """Bring the tip with its trees here; its commit, None where the remote has none."""
        if self.remote_tip() is None:
            self._git.run("update-ref", "-d", self.tracking)
            return None
        try:
            return self._fetched_tip()
        except (RemoteFailed, Unsound):
            # The remote was there a moment ago: what is damaged may well be what lies here.
            self._begin_anew()
            return self._fetched_tip()

    def _fetched_tip(self) -> str:
        wanted = f"+{REF}:{self.tracking}"
        done = self._fetch("--depth=1", "--filter=blob:none", self.remote.name, wanted)
        self.gives_parts = self.gives_parts and _NO_FILTER not in done.stderr
        if done.returncode:
            # Bundles and plain files over HTTP know neither depth nor filters.
            self.gives_parts = False
            done = self._fetch(self.remote.name, wanted)
        if done.returncode:
            raise self._git.failed("cannot be fetched from", done)
        tip = self._git.output("rev-parse", "--verify", f"{self.tracking}^{{commit}}").decode().strip()
        self._listed = tip, self._listing(tip)
        return tip

    def fetch_blobs(self, oids: Iterable[str]) -> None:
        """Bring the blobs that are not here yet, in one go."""
        here = set(self._git.output("cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split())
        missing = [oid for oid in dict.fromkeys(oids) if oid.encode() not in here]
        if not missing:
            return
        wanted = "".join(f"{oid}\n" for oid in missing).encode()
        # Without this git says that it has the tip, and a server sends nothing that is part of it.
        nothing_here = ("-c", "fetch.negotiationAlgorithm=noop")
        by_id = ("--filter=blob:none", "--stdin", self.remote.name)
        done = self._fetch(*by_id, stdin=wanted, settings=nothing_here)
        if done.returncode:
            # A server that gives nothing by id gives the whole tip.
            self.gives_parts = False
            done = self._fetch("--refetch", "--no-filter", self.remote.name, f"+{REF}:{self.tracking}")
        if done.returncode:
            raise self._git.failed("cannot be fetched from", done)

    def push(self, commit: str, *, lease: str | None = None) -> Pushed:
        """Put a commit at the ref of the remote, over `lease` by force or as a fast-forward."""
        force = [f"--force-with-lease={REF}:{lease}"] if lease is not None else []
        done = self._git.run(
            "push", "--porcelain", "--no-verify", *force, self.remote.name, f"{commit}:{REF}", network=True
        )
        if done.returncode == 0:
            return Pushed(True, False, "")
        refusal = next(
            (line for line in done.stdout.decode("utf-8", "replace").splitlines() if line[:1] == "!"), ""
        )
        why = refusal.rpartition("\t")[2]
        said = os.fsdecode(done.stderr)
        if not refusal:
            raise self._git.failed("cannot be pushed to", done)
        raced = any(word in why for word in _RACE) or any(word in why + said for word in _RACE_SAID)
        return Pushed(False, raced, " ".join([why, *_remote_lines(said)]).strip())

    def delete(self) -> bool:
        """Remove the ref from the remote and forget it here; whether there was one."""
        tip = self.remote_tip()
        for name in (self.tracking, f"{self._sent}/{SNAPSHOTS}", f"{self._sent}/{WORDS}"):
            self._git.run("update-ref", "-d", name)
        if tip is None:
            return False
        force = f"--force-with-lease={REF}:{tip}"
        done = self._git.run(
            "push", "--porcelain", "--no-verify", force, self.remote.name, f":{REF}", network=True
        )
        if done.returncode:
            raise self._git.failed("cannot be pushed to", done)
        return True

    # -- what is here

    def has_sent(self, what: str) -> bool:
        """Whether something of that name was pushed from here to this remote before."""
        return self._git.run("rev-parse", "--quiet", "--verify", f"{self._sent}/{what}").returncode == 0

    def note_sent(self, what: str, commit: str) -> None:
        """Remember that it was."""
        self._git.run("update-ref", f"{self._sent}/{what}", commit)

    def listing(self, commit: str) -> Mapping[str, str]:
        """The files of a commit: the id of each by its path."""
        if self._listed is not None and self._listed[0] == commit:
            return self._listed[1]
        return self._listing(commit)

    def _listing(self, commit: str) -> dict[str, str]:
        found = {}
        for line in self._git.output("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")[:-1]:
            head, _, path = line.partition(b"\t")
            _, kind, oid = head.split(b" ")
            if kind == b"blob":
                found[os.fsdecode(path)] = oid.decode()
        return found

    def message(self, commit: str) -> str:
        """The message of a commit."""
        return self._git.output("cat-file", "commit", commit).decode("utf-8", "replace").partition("\n\n")[2]

    def blobs(self, oids: Sequence[str]) -> Iterator[bytes | None]:
        """The contents of blobs in order, None for one that is not here or larger than any of ours."""
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
                    break  # the object is damaged, and git has ended with words about it
                size = int(head[2])
                content = back.read(size + 1)
                yield content[:size] if len(content) == size + 1 else None

    def blob_id(self, data: bytes) -> str:
        """The id that git gives to a blob here."""
        return hashlib.new(self._repository.object_format, b"blob %d\0" % len(data) + data).hexdigest()

    def signature(self, commit: str) -> str | None:
        """None where git finds the commit well signed, else what it said."""
        done = self._git.run("verify-commit", commit)
        return None if done.returncode == 0 else process.complaint(done)

    def commit(
        self,
        parent: str | None,
        files: Mapping[str, bytes],
        message: str,
        *,
        keep: Mapping[str, str] | None = None,
        sign: bool = False,
    ) -> str:
        """Make a commit on top of `parent` with files added or replaced; its id.

        Without a parent its tree is `files` alone, or `keep`, paths with the ids of what is there already.
        """
        tree = self._tree(parent, files) if keep is None else self._kept(keep)
        arguments = ["commit-tree", tree, *(["-p", parent] if parent else []), *(["-S"] if sign else [])]
        done = self._git.run(*arguments, stdin=message.encode(), identity=True)
        if done.returncode:
            raise CtxError(f"the commit for {REF} cannot be made: {process.complaint(done)}")
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
        lines = b"".join(b"100644 %s 0\t%s\0" % (oid.encode(), path.encode()) for path, oid in keep.items())
        try:
            self._git.output("update-index", "-z", "--index-info", stdin=lines, index=index)
            return self._git.output("write-tree", "--missing-ok", index=index).decode().strip()
        finally:
            if os.path.exists(index):
                os.unlink(index)

    def agreed(self) -> set[str]:
        """The blobs of which it is known that they are what is stored here, whatever their bytes."""
        try:
            with open_regular(self._agreed) as file:
                return set(file.read().decode("ascii", "replace").split())
        except OSError:
            return set()

    def agree(self, oids: Iterable[str]) -> None:
        """Remember more of them."""
        known = self.agreed()
        more = known | set(oids)
        if len(more) > len(known):
            self._store.write_file(self._agreed, "".join(f"{oid}\n" for oid in sorted(more)).encode())

    def track(self, commit: str) -> None:
        """Remember what the remote has now."""
        self._git.run("update-ref", self.tracking, commit)

    # -- git

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


def _remote_lines(said: str) -> list[str]:
    """What the server itself said."""
    words = (line.removeprefix("remote:").strip() for line in said.splitlines() if line.startswith("remote:"))
    return [line for line in words if line]
