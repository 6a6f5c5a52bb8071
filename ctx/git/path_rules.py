"""Rules that select the files to index by path; `ctx.text.contents` selects by content.

The partition of a tree into clusters needs the verdict on a path before any blob is read, so it depends only
on names, modes and the rule files of the tree: `.gitattributes` (`ctx`, `linguist-generated`,
`linguist-vendored`, `linguist-language`) and `.ctxignore` (syntax of gitignore(5)) at every level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from operator import itemgetter
from typing import Any

from ctx.git.formats import FILE_MODE, MODE_KIND, SUBMODULE_MODE, SYMLINK_MODE, TreeEntry
from ctx.git.repository import Repository
from ctx.git.rule_files import (
    LARGEST,
    Macros,
    Meaning,
    RuleFile,
    State,
    States,
    encode_states,
    fill,
    length_prefixed,
    parse_attributes,
    parse_ignores,
    parse_macros,
)
from ctx.text.contents import BINARY, GENERATED, IMAGE

SYMLINK = "symlink"
SUBMODULE = "submodule"
IGNORED = "ignored"
VENDORED = "vendored"

RULE_FILES = (b".gitattributes", b".ctxignore")

_CTX = b"ctx"
_GENERATED = b"linguist-generated"
_VENDORED = b"linguist-vendored"
_LANGUAGE = b"linguist-language"
_ATTRIBUTES = (_CTX, _GENERATED, _VENDORED, _LANGUAGE)

_LOCK_FILES = frozenset(
    b"""
    Cargo.lock Cartfile.resolved Gemfile.lock MODULE.bazel.lock Package.resolved Pipfile.lock
    Podfile.lock bun.lock bun.lockb cabal.project.freeze composer.lock conan.lock deno.lock
    flake.lock go.sum go.work.sum gradle.lockfile mix.lock npm-shrinkwrap.json package-lock.json
    packages.lock.json paket.lock pdm.lock pixi.lock pnpm-lock.yaml poetry.lock pubspec.lock
    rebar.lock shrinkwrap.yaml stack.yaml.lock uv.lock yarn.lock .terraform.lock.hcl
    """.split()
)
_GENERATED_ENDS = (b".min.js", b".min.mjs", b".min.cjs", b".min.css", b".map")
_BINARY_ENDS = frozenset(
    b"""
    3gp 7z a aac ai apk avi avif bin blend bmp bz2 cab class db deb dex dll dmg doc docx dylib ear
    eot eps exe fbx flac flv gem gif glb gz h5 hdf5 heic icns ico iso jar jks jpeg jpg keystore lz4
    lzma m4a m4v mkv mov mp3 mp4 mpeg mpg msi ncsa npy npz nupkg odp ods odt ogg ogv onnx opus otf
    p12 parquet pdb pdf pfx pickle pkl png ppt pptx psd pt pth pyc pyd pyo rar rlib rpm safetensors
    sketch so sqlite sqlite3 svgz swf tar tflite tga tgz tif tiff ttc ttf wasm wav webm webp whl
    wim wma wmv woff woff2 xcf xls xlsx xz zip zst
    """.split()
)


@dataclass(eq=False)
class PathRules:
    """The rules in force in one directory. Start with `root`, descend with `enter`.

    `attributes` and `ignores` are rule files, deepest first, each with its prefix. `warnings` collects a
    message for each rule file of the tree that could not be used.
    """

    repository: Repository
    warnings: list[str]
    macros: Macros = field(default_factory=dict)
    attributes: tuple[tuple[bytes, RuleFile[States]], ...] = ()
    ignores: tuple[tuple[bytes, RuleFile[bool]], ...] = ()
    ignored: bool = False

    @classmethod
    def root(
        cls, repository: Repository, entries: Sequence[TreeEntry], warnings: list[str] | None = None
    ) -> PathRules:
        """Return the rules of a root tree with these entries; messages are appended to `warnings`."""
        rules = cls(repository, [] if warnings is None else warnings)
        return rules._with_files(b"", entries, macros=True)

    def enter(self, name: bytes, entries: Sequence[TreeEntry]) -> PathRules:
        """Return the rules of the subdirectory `name` with these entries; `self` if they are the same."""
        if self.ignored:
            return self  # as in git, files below an ignored directory cannot be re-included
        if not self.attributes and not self.ignores:
            return self._with_files(name, entries)
        if self._ignores_path(name, is_directory=True):
            return PathRules(self.repository, self.warnings, ignored=True)
        below = replace(
            self, attributes=_descend(self.attributes, name), ignores=_descend(self.ignores, name)
        )
        return below._with_files(name, entries)

    @cached_property
    def digest(self) -> bytes:
        """Digest, 8 bytes, equal for directories to which the same rules apply in the same way."""
        state = blake2b(b"ignored" if self.ignored else b"", digest_size=8)
        in_force: tuple[tuple[bytes, RuleFile[Any]], ...] = (*self.attributes, *self.ignores)
        for prefix, file in in_force:
            place = prefix if file.looks_at_directories else b""
            state.update(file.digest + len(place).to_bytes(4, "big") + place)
        if self.attributes:
            for name, states in sorted(self.macros.items(), key=itemgetter(0)):
                state.update(length_prefixed(name) + encode_states(states))
        return state.digest()

    def judge(self, name: bytes, mode: int) -> str | None:
        """Return the reason to skip the file `name`, or None; its content may still exclude it."""
        kind = mode & MODE_KIND
        if kind == SYMLINK_MODE:
            return SYMLINK
        if kind == SUBMODULE_MODE:
            return SUBMODULE
        if self.ignored:
            return IGNORED
        verdict = self._ignores_path(name, is_directory=False)
        if verdict is not None:
            return IGNORED if verdict else None
        if not self.attributes:
            return _reason_by_name(name)
        states = self._states(name)
        wanted = _truth(states.get(_CTX))
        if wanted is not None:
            return None if wanted else IGNORED
        generated = _truth(states.get(_GENERATED))
        if generated:
            return GENERATED
        if _truth(states.get(_VENDORED)):
            return VENDORED
        reason = _reason_by_name(name)
        return None if reason == GENERATED and generated is False else reason

    def keeps_out(self, name: bytes) -> bool:
        """Return True if a rule excludes the whole subdirectory or submodule `name`."""
        if self.ignored or self._ignores_path(name, is_directory=True):
            return True
        return _truth(self._states(name).get(_CTX)) is False

    def language(self, name: bytes) -> str | None:
        """Return the `linguist-language` of a file as written, or None."""
        if not self.attributes:
            return None
        value = self._states(name).get(_LANGUAGE)
        return value.decode("utf-8", "replace") if isinstance(value, bytes) and value else None

    def _states(self, name: bytes) -> dict[bytes, State]:
        found: dict[bytes, State] = {}
        for prefix, file in self.attributes:
            for states in file.matching(prefix + name):
                fill(states, found, self.macros)
        return found

    def _ignores_path(self, name: bytes, is_directory: bool) -> bool | None:
        for prefix, file in self.ignores:
            for ignored in file.matching(prefix + name, is_directory):
                return ignored
        return None

    def _with_files(self, directory: bytes, entries: Sequence[TreeEntry], macros: bool = False) -> PathRules:
        """Return these rules combined with the rule files among the entries."""
        rules = self
        for entry in entries:
            if entry.name == RULE_FILES[0] and (data := self._read(directory, entry)):
                if macros:
                    rules = replace(rules, macros=parse_macros(data))
                if attributes := parse_attributes(data, _ATTRIBUTES, rules.macros):
                    rules = replace(rules, attributes=((b"", attributes), *rules.attributes))
            elif entry.name == RULE_FILES[1] and (ignores := parse_ignores(self._read(directory, entry))):
                rules = replace(rules, ignores=((b"", ignores), *rules.ignores))
        return rules

    def _read(self, directory: bytes, entry: TreeEntry) -> bytes:
        if entry.mode & MODE_KIND != FILE_MODE:
            return b""  # like git, do not follow links
        try:
            if self.repository.blob_size(entry.oid) <= LARGEST:
                return self.repository.read_blob(entry.oid)
            problem = f"is larger than {LARGEST} bytes"
        except KeyError:
            problem = "is not in this repository"
        where = f" in '{directory.decode('utf-8', 'replace')}'" if directory else ""
        self.warnings.append(f"the rules of {entry.name.decode()}{where} are not applied: the file {problem}")
        return b""


def _descend(
    files: tuple[tuple[bytes, RuleFile[Meaning]], ...], name: bytes
) -> tuple[tuple[bytes, RuleFile[Meaning]], ...]:
    """Return the rule files relative to a subdirectory, without rules that cannot match there."""
    seen = ((prefix, file if prefix else file.below(name)) for prefix, file in files)
    return tuple((prefix + name + b"/", file) for prefix, file in seen if file)


def _truth(state: State) -> bool | None:
    """Return an attribute as linguist interprets it: True, False, or None if it is unspecified."""
    if isinstance(state, bytes):
        return state.lower() != b"false"
    return state


def _reason_by_name(name: bytes) -> str | None:
    if name in _LOCK_FILES or name.endswith(_GENERATED_ENDS):
        return GENERATED
    _, dot, extension = name.rpartition(b".")
    if dot and extension.lower() == b"svg":
        return IMAGE
    return BINARY if dot and extension.lower() in _BINARY_ENDS else None
