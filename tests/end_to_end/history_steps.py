"""Steps of a replay that move references, the index and the work tree."""

from __future__ import annotations

from collections.abc import Callable

from repositories import Repo
from walk import Walk

MOST_PLACES = 3
"""Maximum number of work trees."""


def commit_real(walk: Walk) -> None:
    """Commit the changes of the project's next commit."""
    walk.take(walk.real())
    walk.git("add", "--all")
    walk.commit()


def cherry_pick(walk: Walk) -> None:
    """Cherry-pick the project's next commit, or one nearby; it may end in a conflict."""
    walk.git("cherry-pick", "-m1", walk.near()) or walk.git("cherry-pick", walk.real())


def commit_everything(walk: Walk) -> None:
    walk.git("add", "--all")
    walk.commit("--allow-empty")


def commit_staged(walk: Walk) -> None:
    walk.commit()


def amend(walk: Walk) -> None:
    """Amend with staged changes, all changes, or only the message."""
    walk.commit("--amend", "--allow-empty", *walk.random.choice([[], ["--all"], ["--only"]]))


def empty_commit(walk: Walk) -> None:
    walk.commit("--allow-empty", "--only")


def revert(walk: Walk) -> None:
    walk.git("revert", "--no-edit", f"HEAD~{walk.random.randrange(3)}")


def merge(walk: Walk) -> None:
    options = walk.random.choice(
        [[], [], ["--no-ff"], ["--squash"], ["--no-commit"], ["-Xtheirs"], ["-sours"]]
    )
    walk.git("merge", "--quiet", "--no-edit", *options, walk.known())


def rebase(walk: Walk) -> None:
    options = walk.random.choice([[], ["-Xtheirs"], ["--autostash"]])
    walk.git("rebase", "--quiet", *options, walk.known())


def squash(walk: Walk) -> None:
    """Squash the last few commits."""
    if walk.git("reset", "--quiet", "--soft", f"HEAD~{walk.random.randrange(1, 4)}"):
        walk.commit()


def reset(walk: Walk) -> None:
    kind = walk.random.choice(["--soft", "--mixed", "--hard", "--hard", "--keep", "--merge"])
    walk.git("reset", "--quiet", kind, walk.known())


def switch(walk: Walk) -> None:
    options = walk.random.choice([[], ["--force"], ["--force"], ["--merge"]])
    walk.git("checkout", "--quiet", *options, walk.known())


def detach(walk: Walk) -> None:
    walk.git("checkout", "--quiet", *walk.random.choice([[], ["--force"]]), "--detach", walk.known())


def new_branch(walk: Walk) -> None:
    options = walk.random.choice([[], ["--force"]])
    walk.git("checkout", "--quiet", *options, "-b", walk.name("topic"), walk.known())


def delete_branch(walk: Walk) -> None:
    names = [name for name in walk.branches() if name != "main"]
    if names:
        walk.git("branch", "--quiet", "-D", walk.random.choice(names))


def orphan(walk: Walk) -> None:
    """Create an orphan branch, with the current files or without any."""
    command = walk.random.choice([["checkout", "--quiet", "--orphan"], ["switch", "--quiet", "--orphan"]])
    walk.git(*command, walk.name("orphan"))


def stash(walk: Walk) -> None:
    walk.git("stash", "push", "--quiet", *walk.random.choice([[], ["-u"], ["-k"], ["-a"], ["--staged"]]))


def unstash(walk: Walk) -> None:
    walk.git(
        "stash",
        walk.random.choice(["pop", "apply", "drop"]),
        "--quiet",
        *walk.random.choice([[], ["--index"]]),
    )


def fetch(walk: Walk) -> None:
    """Commit in the second clone and fetch it; sometimes merge it."""
    here, walk.here = walk.here, walk.second
    walk.take(walk.real())
    walk.git("add", "--all")
    walk.commit()
    walk.here = here
    walk.git("fetch", "--quiet", "second")
    if walk.random.random() < 0.4:
        walk.git("merge", "--quiet", "--no-edit", "second/main")


def add_worktree(walk: Walk) -> None:
    if len(walk.places) >= MOST_PLACES:
        remove_worktree(walk)
    name = walk.name("tree")
    start = walk.random.choice([["--detach"], ["-b", name]])
    if walk.git("worktree", "add", "--quiet", *start, str(walk.scratch / name), walk.known()):
        walk.places.append(Repo(walk.scratch / name))
        walk.here = walk.places[-1]


def remove_worktree(walk: Walk) -> None:
    if len(walk.places) > 1:
        gone = walk.places.pop(walk.random.randrange(1, len(walk.places)))
        walk.here = walk.main
        walk.git("worktree", "remove", "--force", str(gone.path))


def move_worktree(walk: Walk) -> None:
    if len(walk.places) > 1:
        at = walk.random.randrange(1, len(walk.places))
        target = walk.scratch / walk.name("moved")
        walk.here = walk.main
        if walk.git("worktree", "move", str(walk.places[at].path), str(target)):
            walk.places[at] = Repo(target)


def finish(walk: Walk) -> None:
    """End a pending merge, rebase, cherry-pick or revert: by continuing, skipping or aborting."""
    command = walk.in_progress()
    if command is None:
        return
    how = walk.random.choice(["--continue", "--continue", "--abort", "--skip", "--quit"])
    if how == "--continue":
        walk.git("add", "--all")
        if command == "merge":
            walk.commit()
            return
    walk.git("-c", "core.editor=true", command, how)


def resolve_one_side(walk: Walk) -> None:
    """Check out one side of the conflicts."""
    walk.git("checkout", walk.random.choice(["--ours", "--theirs", "--merge"]), "--", ".")


def tidy(walk: Walk) -> None:
    """Repack the repository."""
    walk.git(*walk.random.choice([["repack", "-adq"], ["gc", "--quiet"], ["pack-refs", "--all"], ["prune"]]))


def tag(walk: Walk) -> None:
    walk.git("tag", *walk.random.choice([[], ["-a", "-m", "tagged"]]), walk.name("v"), walk.known())


def leave_history(walk: Walk) -> None:
    """Return to a branch of the project, so that a replay does not stay on empty trees."""
    if walk.in_progress():
        finish(walk)
    walk.git("checkout", "--quiet", "--force", "-B", walk.name("again"), walk.near())
    walk.git("clean", "-dffqx")


STEPS: list[tuple[int, Callable[[Walk], None]]] = [
    (12, commit_real),
    (5, cherry_pick),
    (4, commit_everything),
    (3, commit_staged),
    (4, amend),
    (1, empty_commit),
    (3, revert),
    (6, merge),
    (5, rebase),
    (2, squash),
    (5, reset),
    (9, switch),
    (3, detach),
    (4, new_branch),
    (1, delete_branch),
    (1, orphan),
    (4, stash),
    (4, unstash),
    (4, fetch),
    (2, add_worktree),
    (1, remove_worktree),
    (1, move_worktree),
    (1, resolve_one_side),
    (2, tidy),
    (1, tag),
    (2, leave_history),
]
"""Each step with its weight."""
