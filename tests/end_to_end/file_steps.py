"""Steps of a replay that change files, the index and rules."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

from walk import Walk

RULES: dict[bytes, list[bytes]] = {
    b".ctxignore": [b"", b"docs/\n", b"*.md\n!README.md\n", b"/src/\n", b"tests/**\n", b"*\n!*.py\n!*.go\n"],
    b".gitattributes": [
        b"",
        b"docs/** -ctx\n",
        b"*.py linguist-generated\n",
        b"*.js text eol=crlf\n*.go linguist-vendored\n",
        b"*.md linguist-language=Python\n",
        b"* text=auto\n",
    ],
    b".gitignore": [b"", b"untracked*\n", b"*.new\n", b"/odd/\n"],
}


def edit_real(walk: Walk) -> None:
    """Change files as a real commit did, some or all, and commit nothing."""
    walk.take(walk.near(), walk.random.choice([0.4, 1.0]))


def append(walk: Walk) -> None:
    """Append lines of another file."""
    name, other = (walk.random.choice(walk.files()) for _ in range(2))
    if name and other:
        lines = read(walk, other).splitlines(keepends=True)
        start = walk.random.randrange(max(1, len(lines)))
        walk.write(name, read(walk, name) + b"".join(lines[start : start + 30]))


def edit_in_place(walk: Walk) -> None:
    """Change a file twice at once, to the same length, and stage the first change only."""
    name = walk.random.choice(walk.files())
    content = read(walk, name) if name else b""
    if len(content) > 10:
        at = walk.random.randrange(len(content) - 4)
        walk.write(name, content[:at] + b"zqxj" + content[at + 4 :])
        walk.git("update-index", "--", name)
        walk.write(name, content[:at] + b"vkwy" + content[at + 4 :])


def touch(walk: Walk) -> None:
    name = walk.random.choice(walk.files())
    if name:
        walk.note(f"touch {os.fsdecode(name)}")
        os.utime(walk.path(name))


def stage(walk: Walk) -> None:
    walk.git("add", *walk.random.choice([["--all"], ["--update"], ["--intent-to-add", "."], ["."]]))


def unstage(walk: Walk) -> None:
    walk.git(*walk.random.choice([["reset", "--quiet"], ["restore", "."], ["restore", "--staged", "."]]))


def clean(walk: Walk) -> None:
    walk.git("clean", "-dfq")


def remove_file(walk: Walk) -> None:
    name = walk.random.choice(walk.files())
    if name:
        how = walk.random.choice(["disk", "both", "index"])
        if how == "disk":
            walk.remove(name)
        else:
            walk.git("rm", "-q", "-f", *([] if how == "both" else ["--cached"]), "--", name)


def remove_folder(walk: Walk) -> None:
    folder = pick_folder(walk)
    if folder:
        how = walk.random.choice(["disk", "both", "index"])
        if how == "disk":
            walk.remove(folder)
        else:
            walk.git("rm", "-q", "-rf", *([] if how == "both" else ["--cached"]), "--", folder)


def remove_everything(walk: Walk) -> None:
    walk.git("rm", "-q", "-rf", ".")


def move(walk: Walk) -> None:
    """Rename a file or a directory, by git or behind its back."""
    name = walk.random.choice([pick_folder(walk), walk.random.choice(walk.files())])
    if name:
        target = name + b"_" + walk.name("m").encode()
        if walk.random.random() < 0.6:
            walk.git("mv", "-k", name, target)
        elif os.path.exists(walk.path(name)):
            walk.note(f"rename {os.fsdecode(name)}")
            os.rename(walk.path(name), walk.path(target))


def other_case(walk: Walk) -> None:
    """Add or rename a file to a name that differs in case only."""
    name = walk.random.choice(walk.files())
    folder, _, base = name.rpartition(b"/")
    target = (folder + b"/" if folder else b"") + base.swapcase()
    if name and not os.path.lexists(walk.path(target)):
        if walk.random.random() < 0.5:
            walk.git("mv", name, target)
        else:
            walk.write(target, read(walk, name) + b"\n")


def mode(walk: Walk) -> None:
    name = walk.random.choice(walk.files())
    if name:
        full = walk.path(name)
        walk.note(f"chmod {os.fsdecode(name)}")
        os.chmod(full, stat.S_IMODE(os.stat(full).st_mode) ^ 0o111)


def file_to_folder(walk: Walk) -> None:
    name = walk.random.choice(walk.files())
    if name:
        content = read(walk, name)
        walk.remove(name)
        walk.write(name + b"/" + name.rpartition(b"/")[2], content)


def folder_to_file(walk: Walk) -> None:
    folder, name = pick_folder(walk), walk.random.choice(walk.files())
    if folder and name:
        walk.write(folder, read(walk, name))


def to_link(walk: Walk) -> None:
    """Replace a file or directory by a link: to a neighbour, out of the tree, to itself, to nothing."""
    name = walk.random.choice([pick_folder(walk), walk.random.choice(walk.files())])
    if name:
        targets = [name.rpartition(b"/")[2], b"../..", b"nothing", *walk.files()[:1], b"/etc", b"moved aside"]
        target = walk.random.choice(targets)
        if target == b"moved aside":
            # The files are still reachable through the link.
            os.rename(walk.path(name), walk.path(name + b".aside"))
            target = name.rpartition(b"/")[2] + b".aside"
        walk.remove(name)
        walk.note(f"link {os.fsdecode(name)} → {os.fsdecode(target)}")
        os.symlink(target, walk.path(name))


def untracked(walk: Walk) -> None:
    """Add files of the current tree or of another commit."""
    name = walk.random.choice(walk.files())
    if name:
        extension = b"." + name.rpartition(b".")[2] if b"." in name.rpartition(b"/")[2] else b""
        target = walk.random.choice([b"untracked/deep/", b"", b"odd/", b"a\nb \xff/"])
        walk.write(
            target + walk.name("new").encode() + extension, read(walk, name)[: walk.random.randrange(9000)]
        )


def odd_content(walk: Walk) -> None:
    contents = [
        b"",
        b"\0\1\2" * 50,
        b"def crlf_session():\r\n    return 1\r\n" * 3,
        "def größe():\n    return 'ß'\n".encode("latin-1"),
        b"\xef\xbb\xbfdef with_mark():\n    pass\n",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 5\n",
        b"<<<<<<< ours\ndef mine(): pass\n=======\ndef yours(): pass\n>>>>>>> theirs\n",
        b"x = 1\n" * 200_000,
        b"var a=" + b"b(c,d)," * 3000 + b"e;\n",
    ]
    name = walk.random.choice(
        [b"odd/" + walk.name("odd").encode() + b".py", walk.random.choice(walk.files())]
    )
    if name:
        walk.write(name, walk.random.choice(contents))


def rules(walk: Walk) -> None:
    """Change a rule file, at the top or below; in the work tree, staged or committed."""
    name = walk.random.choice(sorted(RULES))
    folder = walk.random.choice([b"", b"", pick_folder(walk)])
    full = folder + b"/" + name if folder else name
    walk.write(full, walk.random.choice(RULES[name]))
    how = walk.random.choice(["leave", "stage", "commit"])
    if how != "leave":
        walk.git("add", "-f", "--", full)
    if how == "commit":
        walk.commit()


def gitlink(walk: Walk) -> None:
    """Add an entry of a submodule that does not exist."""
    oid = walk.read("rev-parse", "HEAD").decode()
    if len(oid) in (40, 64):
        name = walk.name("vendored")
        walk.git("update-index", "--add", "--cacheinfo", f"160000,{oid},{name}")
        os.makedirs(walk.path(name.encode()), exist_ok=True)
        walk.commit()


def nested_repository(walk: Walk) -> None:
    name = walk.name("nested")
    walk.git("init", "--quiet", name)
    walk.write(name.encode() + b"/inner.py", b"def inner(): pass\n")


def flags(walk: Walk) -> None:
    """Mark a file as unchanged for git, and change it."""
    name = walk.random.choice(walk.files())
    if name:
        option = walk.random.choice(["--assume-unchanged", "--skip-worktree", "--no-assume-unchanged"])
        walk.git("update-index", option, "--", name)
        walk.write(name, read(walk, name) + b"\ndef not_looked_at(): pass\n")


def sparse(walk: Walk) -> None:
    command = walk.random.choice([["set", pick_folder(walk) or b"docs"], ["disable"], ["disable"]])
    walk.git("sparse-checkout", *command)


def settings(walk: Walk) -> None:
    """Change settings that affect how git writes its index and reads the work tree."""
    walk.git("config", *walk.random.choice([
        ["core.untrackedCache", "true"], ["core.splitIndex", "true"], ["core.splitIndex", "false"],
        ["index.version", "4"], ["core.fileMode", "false"], ["core.fileMode", "true"],
        ["core.autocrlf", "input"], ["core.autocrlf", "false"], ["core.trustctime", "false"],
        ["status.showUntrackedFiles", "no"], ["merge.conflictStyle", "diff3"], ["rerere.enabled", "true"],
        ["index.skipHash", "true"], ["core.checkStat", "minimal"], ["diff.ignoreSubmodules", "none"],
    ]))  # fmt: skip


def pick_folder(walk: Walk) -> bytes:
    """Return a directory with tracked files, or None."""
    folders = sorted({name.rpartition(b"/")[0] for name in walk.files() if b"/" in name})
    return walk.random.choice(folders) if folders else b""


def read(walk: Walk, name: bytes) -> bytes:
    """Return the content of a file of the work tree."""
    with open(walk.path(name), "rb") as stream:
        return stream.read()


STEPS: list[tuple[int, Callable[[Walk], None]]] = [
    (8, edit_real),
    (4, append),
    (3, edit_in_place),
    (1, touch),
    (5, stage),
    (2, unstage),
    (2, clean),
    (3, remove_file),
    (2, remove_folder),
    (1, remove_everything),
    (4, move),
    (2, other_case),
    (2, mode),
    (2, file_to_folder),
    (2, folder_to_file),
    (2, to_link),
    (4, untracked),
    (3, odd_content),
    (5, rules),
    (1, gitlink),
    (1, nested_repository),
    (1, flags),
    (1, sparse),
    (1, settings),
]
"""Each step with its weight."""
