"""The partition: a pure function of names, modes, ids and rules; an edit changes it in one place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import sha1
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from repositories import Repo

from ctx.git.path_rules import PathRules
from ctx.git.repository import open_repository
from ctx.storage.cluster_key import Member, cluster_key
from ctx.storage.partition import Cluster, Content, Node, root_node

LONGEST = 24


class Entry(NamedTuple):
    """An entry of a tree."""

    name: bytes
    mode: int
    oid: bytes


class NoRules:
    """The rules of a tree without rule files."""

    digest = b""

    def enter(self, name: bytes, entries: Sequence[Entry]) -> NoRules:
        return self

    def judge(self, name: bytes, mode: int) -> str | None:
        return "binary" if name.endswith(b".png") else None

    def language(self, name: bytes) -> str | None:
        return None


class Trees:
    """Git trees in memory, made from paths and contents."""

    def __init__(self) -> None:
        self.entries: dict[bytes, list[Entry]] = {}

    def add(self, files: dict[str, str]) -> bytes:
        """Return the id of the tree with these files."""
        below: dict[str, dict[str, str]] = {}
        made: list[Entry] = []
        for path, content in files.items():
            head, slash, rest = path.partition("/")
            if slash:
                below.setdefault(head, {})[rest] = content
            else:
                made.append(Entry(path.encode(), 0o100644, sha1(content.encode()).digest()))
        made += [Entry(name.encode(), 0o040000, self.add(inner)) for name, inner in below.items()]
        made.sort(key=lambda entry: entry.name + (b"/" if entry.mode == 0o040000 else b""))
        oid = sha1(repr(made).encode()).digest()
        self.entries[oid] = made
        return oid

    def node(self, files: dict[str, str], descriptor: str = "d") -> Node:
        """Return the root node of the tree with these files."""
        return root_node(descriptor, self.add(files), lambda entries: NoRules(), self.entries.__getitem__)


class Whole(NamedTuple):
    """A complete partition: nodes by path, clusters in manifest order, skipped files."""

    nodes: dict[bytes, bytes]
    clusters: list[Cluster]
    skipped: Counter[str]

    @property
    def keys(self) -> set[bytes]:
        return {cluster.key for cluster in self.clusters}

    @property
    def shapes(self) -> list[tuple[bytes, ...]]:
        """Return the paths of each cluster."""
        return [tuple(member.path for member in cluster.members) for cluster in self.clusters]


def walk(root: Node) -> Whole:
    """Read a complete partition."""
    nodes: dict[bytes, bytes] = {}
    clusters: list[Cluster] = []
    skipped: Counter[str] = Counter()
    open_ = [root]
    while open_:
        node = open_.pop()
        content: Content = node.read()
        nodes[node.path] = node.key
        clusters += content.clusters
        skipped.update(content.skipped)
        open_ += reversed(content.nodes)
    return Whole(nodes, clusters, skipped)


NAMES = st.sampled_from([f"{a}{b}" for a in "abcdefgh" for b in ("", "1", ".py", "_x.go", ".png", "-é")])
WIDE = st.integers(0, 60).map(lambda n: {f"wide/f{i}.py": f"w{i}" for i in range(n)})
NESTED = st.dictionaries(
    st.lists(NAMES, min_size=1, max_size=4).map("/".join), st.sampled_from("pqrstu"), max_size=90
)


@st.composite
def trees(draw: st.DrawFn) -> dict[str, str]:
    """Draw the files of a tree, without a name that is both a file and a directory."""
    found = draw(NESTED) | draw(WIDE)
    folders = {path[: path.rfind("/", 0, at)] for path in found for at in range(len(path)) if path[at] == "/"}
    folders |= {"/".join(path.split("/")[:n]) for path in found for n in range(1, path.count("/") + 1)}
    return {path: content for path, content in found.items() if path not in folders}


def check(files: dict[str, str], whole: Whole) -> None:
    """Check the properties of every partition."""
    members = [member.path.decode() for cluster in whole.clusters for member in cluster.members]
    assert sorted(members) == sorted(path for path in files if not path.endswith(".png"))
    assert whole.skipped.total() == sum(path.endswith(".png") for path in files)
    assert all(1 <= len(cluster.members) <= LONGEST for cluster in whole.clusters)
    assert len(whole.keys) == len(whole.clusters)
    assert all(cluster_key("d", cluster.members) == cluster.key for cluster in whole.clusters)


@given(trees())
def test_every_selected_file_is_in_one_cluster(files: dict[str, str]) -> None:
    check(files, walk(Trees().node(files)))


@given(trees(), st.randoms(use_true_random=False))
def test_the_partition_is_a_function_of_the_tree(files: dict[str, str], random: Random) -> None:
    shuffled = list(files.items())
    random.shuffle(shuffled)
    assert walk(Trees().node(files)) == walk(Trees().node(dict(shuffled)))
    other = walk(Trees().node(files, "another descriptor"))
    assert other.shapes == walk(Trees().node(files)).shapes
    assert not other.keys & walk(Trees().node(files)).keys


@given(trees(), st.data())
def test_editing_a_file_changes_one_key_and_no_boundary(files: dict[str, str], data: st.DataObject) -> None:
    included = sorted(path for path in files if not path.endswith(".png"))
    if not included:
        return
    path = data.draw(st.sampled_from(included))
    before, after = walk(Trees().node(files)), walk(Trees().node(files | {path: "edited"}))
    assert before.shapes == after.shapes
    changed = [
        one for one, other in zip(before.clusters, after.clusters, strict=True) if one.key != other.key
    ]
    assert [path.encode() in {member.path for member in cluster.members} for cluster in changed] == [True]
    above = {
        b"".join(part + b"/" for part in path.encode().split(b"/")[:n]) for n in range(path.count("/") + 1)
    }
    assert {folder for folder in before.nodes if before.nodes[folder] != after.nodes[folder]} == above & set(
        before.nodes
    )


@given(trees(), st.data())
def test_adding_or_removing_a_file_changes_one_directory(files: dict[str, str], data: st.DataObject) -> None:
    if not files:
        return
    path = data.draw(st.sampled_from(sorted(files)))
    with_it = walk(Trees().node(files))
    without = walk(Trees().node({name: text for name, text in files.items() if name != path}))
    folders = {path[: at + 1] for at, letter in enumerate(path) if letter == "/"} | {""}
    top = min((f for f in folders if f.encode() in with_it.nodes), key=len)
    deepest = max(
        (f for f in folders if f.encode() in with_it.nodes and f.encode() in without.nodes), key=len
    )
    assert top == ""
    for key in with_it.keys ^ without.keys:
        cluster = next(one for one in with_it.clusters + without.clusters if one.key == key)
        assert all(member.path.startswith(deepest.encode()) for member in cluster.members)


def test_adding_a_file_to_a_wide_directory_changes_few_runs() -> None:
    files = {f"src/module_{i:04}.py": f"text {i}" for i in range(2000)}
    before = walk(Trees().node(files))
    check(files, before)
    assert 100 < len(before.clusters) < 300
    worst = 0
    for i in range(0, 2000, 97):
        less = walk(
            Trees().node({name: text for name, text in files.items() if name != f"src/module_{i:04}.py"})
        )
        more = walk(Trees().node(files | {f"src/module_{i:04}_more.py": "more"}))
        worst = max(worst, len(less.keys - before.keys), len(more.keys - before.keys))
    assert worst <= 3


def test_a_deep_chain_has_bounded_nodes_and_all_its_files() -> None:
    files = {"d/" * depth + f"f{depth}.py": str(depth) for depth in range(300)}
    whole = walk(Trees().node(files))
    members = [member.path.decode() for cluster in whole.clusters for member in cluster.members]
    assert sorted(members) == sorted(files)
    assert len(whole.nodes) <= 102
    assert max(len(cluster.members) for cluster in whole.clusters) <= 24


def test_files_too_deep_for_nodes_are_split_into_runs_too() -> None:
    deep = "d/" * 110
    files = {f"{deep}{name}/f{number}.py": f"{name}{number}" for name in "abc" for number in range(500)}
    before = walk(Trees().node(files))
    assert sum(len(cluster.members) for cluster in before.clusters) == len(files)
    assert max(len(cluster.members) for cluster in before.clusters) <= 24
    after = walk(Trees().node(files | {f"{deep}b/more.py": "more"}))
    assert len(after.keys - before.keys) <= 2


def test_many_small_directories_share_clusters() -> None:
    files = {f"packages/p{i:03}/index.js": str(i) for i in range(400)}
    files |= {f"packages/p{i:03}/README.md": str(-i) for i in range(400)}
    whole = walk(Trees().node(files))
    check(files, whole)
    assert len(whole.clusters) < 160
    for cluster in whole.clusters:
        folders = Counter(member.path.split(b"/")[1] for member in cluster.members)
        assert set(folders.values()) == {2}, "a small directory is never cut"


def test_shared_directories_have_equal_keys_in_both_trees() -> None:
    shared = {f"lib/f{i}.py": str(i) for i in range(40)} | {f"lib/in/g{i}.py": str(i) for i in range(30)}
    one = walk(Trees().node(shared | {"main.py": "one", "src/a.py": "one"}))
    other = walk(Trees().node(shared | {"main.py": "other", "docs/b.md": "other"}))
    assert one.nodes[b"lib/"] == other.nodes[b"lib/"]
    assert one.nodes[b"lib/in/"] == other.nodes[b"lib/in/"]
    keys = {c.key for c in one.clusters if all(m.path.startswith(b"lib/") for m in c.members)}
    assert keys
    assert keys <= other.keys


@pytest.mark.parametrize(
    "other",
    [
        Member(b"a.py", 0o100644, b"\1" * 20, "python"),
        Member(b"b.py", 0o100755, b"\1" * 20, "python"),
        Member(b"b.py", 0o100644, b"\2" * 20, "python"),
        Member(b"b.py", 0o100644, b"\1" * 32, "python"),
        Member(b"b.py", 0o100644, b"\1" * 20, None),
        Member(b"b.py", 0o100644, b"\1" * 20, "go"),
    ],
)
def test_a_key_depends_on_every_field_of_a_member(other: Member) -> None:
    member = Member(b"b.py", 0o100644, b"\1" * 20, "python")
    assert cluster_key("d", [member]) != cluster_key("d", [other])
    assert cluster_key("d", [member]) != cluster_key("e", [member])
    assert cluster_key("d", [member, other]) != cluster_key("d", [other, member])


# -- with the rules of real repositories


def real(repo: Repo, revision: str = "HEAD") -> Whole:
    """Return the partition of a revision under its own rules."""
    with open_repository(repo.path) as repository:
        return walk(
            root_node(
                "d",
                repository.resolve_tree(revision).tree,
                lambda entries: PathRules.root(repository, entries),
                repository.tree_entries,
            )
        )


MANY = {f"{folder}/f{i}.py": f"{folder} {i}" for folder in ("a", "b", "b/c") for i in range(20)}


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        (".ctxignore", "f3.py\n"),
        (".gitattributes", "f3.py -ctx\n"),
        (".gitattributes", "f3.py linguist-language=Go\n"),
    ],
)
def test_rule_files_change_keys_only_below_them(
    make_repo: Callable[..., Repo], rules: str, text: str
) -> None:
    repo = make_repo()
    repo.commit(MANY)
    before = real(repo)
    repo.commit({f"b/{rules}": text})
    after = real(repo)
    assert before.nodes[b"a/"] == after.nodes[b"a/"]
    assert before.nodes[b"b/c/"] != after.nodes[b"b/c/"]
    gone = [cluster for cluster in before.clusters if cluster.key not in after.keys]
    assert gone
    assert all(member.path.startswith(b"b/") for cluster in gone for member in cluster.members)
    paths = {member.path: member.language for cluster in after.clusters for member in cluster.members}
    if "language" in text:
        assert paths[b"b/c/f3.py"] == paths[b"b/f3.py"] == "go"
        assert paths[b"a/f3.py"] == "python"
    else:
        assert {b"b/f3.py", b"b/c/f3.py"}.isdisjoint(paths)
        assert b"a/f3.py" in paths


def test_linguist_language_is_the_language_of_a_grammar_or_none(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    lines = ["*.foo linguist-language=Python", "*.b linguist-language=C++", "*.py linguist-language=Klingon"]
    lines += [f"*.x{i} linguist-language=Made-Up-{i}" for i in range(300)]
    repo.commit(
        {".gitattributes": "\n".join(lines), "x.foo": "1", "x.b": "2", "x.py": "3", "x.x7": "4", "x.go": "5"}
    )
    found = {m.path: m.language for cluster in real(repo).clusters for m in cluster.members}
    found.pop(b".gitattributes")
    assert found == {b"x.foo": "python", b"x.b": "cpp", b"x.py": None, b"x.x7": None, b"x.go": "go"}


def test_links_submodules_and_binary_names_are_counted(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    (repo.path / "link").symlink_to("a.py")
    repo.commit({"a.py": "a", "logo.png": b"\x89PNG", "big.lock": "x", "yarn.lock": "x"})
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    repo.git("commit", "-q", "-m", "a submodule")
    whole = real(repo)
    assert whole.skipped == {"symlink": 1, "submodule": 1, "binary": 1, "generated": 1}
    assert whole.shapes == [(b"a.py", b"big.lock")]


def test_sha256_repositories_have_keys_of_their_own(make_repo: Callable[..., Repo]) -> None:
    one, other = make_repo("one"), make_repo("other", "--object-format=sha256")
    for repo in (one, other):
        repo.commit(MANY)
    assert real(one).shapes == real(other).shapes
    assert not real(one).keys & real(other).keys
