"""The language of a path."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ctx.chunking.language_table import LANGUAGES
from ctx.chunking.languages import content_class, display_name, language_of, linguist_name_to_language


@pytest.mark.parametrize(
    ("path", "language"),
    [
        (b"src/a.py", "python"),
        (b"a.pyi", "python"),
        (b"A.PY", "python"),
        (b"x.c", "c"),
        (b"x.C", "cpp"),
        (b"x.h", "cpp"),
        (b"x.hpp", "cpp"),
        (b"a.tsx", "tsx"),
        (b"a.d.ts", "typescript"),
        (b"a.mts", "typescript"),
        (b"a.cjs", "javascript"),
        (b"a.jsx", "javascript"),
        (b"build.gradle.kts", "kotlin"),
        (b"build.gradle", "groovy"),
        (b"view.blade.php", "php"),
        (b"index.html.erb", "embeddedtemplate"),
        (b"Makefile", "make"),
        (b"makefile", "make"),
        (b"Dockerfile", "dockerfile"),
        (b"Dockerfile.dev", "dockerfile"),
        (b"CMakeLists.txt", "cmake"),
        (b"requirements.txt", "requirements"),
        (b"requirements-dev.txt", "requirements"),
        (b".bashrc", "bash"),
        (b".gitignore", "gitignore"),
        (b"Gemfile", "ruby"),
        (b"Rakefile", "ruby"),
        (b"BUILD", "starlark"),
        (b"BUILD.bazel", "starlark"),
        (b"go.mod", "gomod"),
        (b"go.sum", "gosum"),
        (b"Cargo.lock", "toml"),
        (b"notes.txt", None),
        (b"LICENSE", None),
        (b"a", None),
        (b".hidden", None),
        (b"", None),
        (b"dir.py/README", None),
        (b"\xff\xfe.rs", "rust"),
    ],
)
def test_language_of(path: bytes, language: str | None) -> None:
    assert language_of(path) == language


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (b"a.rs", "code"),
        (b"README.md", "docs"),
        (b"README", "docs"),
        (b"LICENSE", "docs"),
        (b"notes.txt", "docs"),
        (b"ci.yml", "config"),
        (b"package.json", "config"),
        (b".eslintrc.json", "config"),
        (b"pom.xml", "config"),
        (b"Dockerfile", "config"),
        (b"cities.json", "data"),
        (b"cities.csv", "data"),
        (b"image.svg", "data"),
        (b"messages.po", "data"),
        (b"page.html", "code"),
        (b"schema.sql", "code"),
    ],
)
def test_content_class(path: bytes, expected: str) -> None:
    assert content_class(language_of(path), path) == expected


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("C#", "csharp"),
        ("C++", "cpp"),
        ("Objective-C", "objc"),
        ("python", "python"),
        ("Shell", "bash"),
        ("Vim Script", "vim"),
        ("Emacs-Lisp", "elisp"),
        ("TypeScript", "typescript"),
        ("No Such Language", None),
    ],
)
def test_linguist_names(name: str, language: str | None) -> None:
    assert linguist_name_to_language(name) == language


def test_display_names() -> None:
    assert display_name("python") == "Python"
    assert display_name("csharp") == "C#"
    assert display_name("commonlisp") == "Common Lisp"
    assert display_name(None) == "Text"


def test_every_language_has_a_grammar() -> None:
    import tree_sitter_language_pack

    for language in LANGUAGES:
        tree_sitter_language_pack.get_parser(language)


def test_the_table_is_cheap_to_import() -> None:
    code = "import sys; import ctx.chunking.languages; print('tree_sitter' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
