"""A walk over the real history of a project: one repository with linked work trees, and a second clone.

What the steps (`history_steps`, `file_steps`) do is done by git, or by writing files as an editor would. A
command may fail, as a user's do: conflicts and refusals are states like others. Nothing here knows git-ctx.
"""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

from repositories import Repo

IN_PROGRESS = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}
"""Files in the git directory of a work tree while an operation is in progress."""


class Walk:
    """The repositories of one walk, and what the steps need of them.

    `donor` is the project, which is only read. `here` is the work tree of the next step. `log` has what was
    done, for people.
    """

    def __init__(self, donor: Path, scratch: Path, seed: int, span: int = 600) -> None:
        """Start `span` commits before the end of the project's history."""
        self.random = random.Random(seed)
        self.scratch = scratch
        self.log: list[str] = []
        self.main = self._clone(donor, "repo")
        head = Repo(donor).git("rev-parse", "HEAD")
        self.commits = self.main.git("rev-list", "--first-parent", "--reverse", head).decode().split()
        self.next = max(0, len(self.commits) - 1 - span)
        self.main.git("checkout", "--quiet", "-B", "main", self.commits[self.next])
        self.second = self._clone(donor, "second")
        self.second.git("checkout", "--quiet", "-B", "main", self.commits[self.next])
        self.main.git("remote", "add", "second", str(self.second.path))
        self.places = [self.main]
        self.here = self.main
        self.made = 0

    def _clone(self, donor: Path, name: str) -> Repo:
        at = Repo(self.scratch)
        at.git("clone", "--quiet", "--no-checkout", str(donor), name)
        cloned = Repo(self.scratch / name)
        cloned.git("config", "gc.auto", "0")
        return cloned

    def git(self, *arguments: str | bytes, stdin: bytes | None = None) -> bool:
        """Run a git command in the current work tree; return True if it succeeded."""
        self.main.clock += 61
        self.here.clock = self.main.clock
        done = self.here.run(*arguments, stdin=stdin)
        shown = " ".join(os.fsdecode(argument) for argument in arguments)
        self.note(f"git {shown}" + (f"  → {done.returncode}" if done.returncode else ""))
        return done.returncode == 0

    def note(self, what: str) -> None:
        """Add a line to the log."""
        self.log.append(f"  {self.here.path.name}: {what}")

    def read(self, *arguments: str | bytes) -> bytes:
        """Return the output of a reading git command; empty if it fails."""
        return self.here.git(*arguments, check=False)

    def commit(self, *options: str) -> bool:
        """Commit the staged changes."""
        return self.git("commit", "--quiet", "--no-verify", "-m", f"step {len(self.log)}", *options)

    def tracked(self) -> list[bytes]:
        """Return the paths in the index."""
        return list(dict.fromkeys(filter(None, self.read("ls-files", "-z").split(b"\0"))))

    def files(self) -> list[bytes]:
        """Return the tracked paths that are regular files on disk, not behind a link."""
        top = self.top
        found = [path for path in self.tracked() if is_plain(top, path)]
        return found or [b""]

    @property
    def top(self) -> bytes:
        """Current work tree."""
        return os.fsencode(self.here.path)

    def path(self, name: bytes) -> bytes:
        """Return the path of a name on disk."""
        return os.path.join(self.top, name)

    def write(self, name: bytes, content: bytes) -> None:
        """Write a file, replacing what is there or above it."""
        self.note(f"write {os.fsdecode(name)} ({len(content):,} bytes)")
        self.clear(name)
        full = self.path(name)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as stream:
            stream.write(content)

    def clear(self, name: bytes) -> None:
        """Remove what prevents a file of this name: links and files above it, a directory."""
        parts = name.split(b"/")
        for end in range(1, len(parts)):
            above = self.path(b"/".join(parts[:end]))
            if os.path.islink(above) or os.path.isfile(above):
                os.unlink(above)
        full = self.path(name)
        if os.path.islink(full):
            os.unlink(full)
        elif os.path.isdir(full):
            shutil.rmtree(full)

    def remove(self, name: bytes) -> None:
        """Delete a file or a directory from the disk."""
        self.note(f"delete {os.fsdecode(name)}")
        full = self.path(name)
        if os.path.isdir(full) and not os.path.islink(full):
            shutil.rmtree(full)
        elif os.path.lexists(full):
            os.unlink(full)

    def real(self) -> str:
        """Return the next commit of the project, cyclically."""
        self.next = (self.next + 1) % len(self.commits)
        return self.commits[self.next] if self.next else self.real()

    def near(self) -> str:
        """Return a commit near the current one."""
        low = max(0, self.next - 40)
        return self.commits[self.random.randrange(low, min(len(self.commits), self.next + 20))]

    def branches(self) -> list[str]:
        """Return the short names of all branches."""
        return self.read("for-each-ref", "--format=%(refname:short)", "refs/heads").decode().split()

    def known(self) -> str:
        """Return a revision: a branch, a commit of the current branch, a project commit, a fetched one."""
        wanted = self.random.choice(["branch", "back", "near", "second"])
        if wanted == "branch" and self.branches():
            return self.random.choice(self.branches())
        if wanted == "back":
            return f"HEAD~{self.random.randrange(1, 4)}"
        if wanted == "second" and self.read("rev-parse", "--verify", "--quiet", "second/main"):
            return "second/main"
        return self.near()

    def name(self, what: str) -> str:
        """Return an unused name."""
        self.made += 1
        return f"{what}{self.made}"

    def changes(self, commit: str) -> list[tuple[bytes, bytes]]:
        """Return the (status, path) pairs by which a project commit differs from its parent."""
        listing = self.read("diff-tree", "-r", "-z", "--no-renames", "--name-status", f"{commit}^", commit)
        words = listing.split(b"\0")
        return list(zip(words[0::2], words[1::2], strict=False))

    def take(self, commit: str, share: float = 1.0) -> None:
        """Write all or some of the files that a project commit changed into the work tree."""
        for status, path in self.changes(commit):
            if self.random.random() > share:
                continue
            entry = self.read("ls-tree", "-z", commit, "--", path)
            if status == b"D":
                self.remove(path)
            elif entry.startswith((b"100644", b"100755")):
                oid = entry.split(None, 3)[2]
                self.write(path, self.here.run("cat-file", "blob", oid).stdout)
                os.chmod(self.path(path), int(entry[3:6], 8))

    def in_progress(self) -> str | None:
        """Return the operation in progress in the current work tree."""
        folder = os.path.join(self.top, self.read("rev-parse", "--git-dir"))
        for name, command in IN_PROGRESS.items():
            if os.path.exists(os.path.join(folder, name.encode())):
                return command
        return None

    def elsewhere(self) -> None:
        """Choose the work tree of the next step: rarely another one."""
        if len(self.places) > 1 and self.random.random() < 0.4:
            self.here = self.random.choice(self.places)


def is_plain(top: bytes, path: bytes) -> bool:
    """Return True if a path is a regular file below `top` that is not behind a link."""
    full = os.path.join(top, path)
    if os.path.islink(full) or not os.path.isfile(full):
        return False
    return os.path.realpath(full) == os.path.join(os.path.realpath(top), path)
