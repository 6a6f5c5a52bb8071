"""The language of a path, and the content class of that language.

Only the path decides, never the content, so that every clone gets the same language without reading a blob.
Languages have the names of their grammars in tree-sitter-language-pack. The module imports nothing expensive.
"""

from __future__ import annotations

from ctx.chunking import language_table as table


def language_of(path: bytes) -> str | None:
    """Return the language of the file at `path` (bytes, as from git), by its name alone; None if unknown.

    A whole file name takes precedence (`Makefile`), then the longest extension (`.d.ts` before `.ts`). Exact
    case is tried first, for `.C` and `.R`, then folded case.
    """
    name = path[path.rfind(b"/") + 1 :].decode("utf-8", "replace")
    found = table.NAMES.get(name) or table.NAMES.get(name.lower())
    if found:
        return found
    dot = name.find(".", 1)
    while dot > 0:
        extension = name[dot + 1 :]
        found = table.EXTENSIONS.get(extension) or table.EXTENSIONS.get(extension.lower())
        if found:
            return found
        dot = name.find(".", dot + 1)
    return next((language for prefix, language in table.PREFIXES.items() if name.startswith(prefix)), None)


def content_class(language: str | None, path: bytes) -> str:
    """Return the content class of a file: "code", "docs", "config" or "data"."""
    name = path[path.rfind(b"/") + 1 :].decode("utf-8", "replace").lower()
    stem, _, extension = name.rpartition(".")
    if (stem or name).upper() in table.DOCS_NAMES and language in (None, "rst", "markdown", "org"):
        return "docs"
    if language in table.DOCS or (language is None and extension in ("txt", "adoc", "asciidoc", "pod", "1")):
        return "docs"
    if name in table.CONFIG_NAMES or language in table.CONFIG:
        return "config"
    if language == "json":
        return "config" if _is_settings(name) else "data"
    if language in table.DATA or (language is None and extension in table.DATA_EXTENSIONS):
        return "data"
    if language is None:
        return "config" if name.startswith(".") or extension in ("conf", "cfg", "lock") else "data"
    return "code"


def _is_settings(name: str) -> bool:
    """Return True if the lower-case name of a JSON file is that of a configuration, not of data."""
    return (
        name.startswith(".")
        or "config" in name
        or "settings" in name
        or name in ("package.json", "composer.json", "manifest.json", "deno.json", "turbo.json", "nx.json")
        or name.endswith(("rc.json", "lint.json"))
    )


def display_name(language: str | None) -> str:
    """Return the display name of a language: "Python", "C#"; "Text" for None."""
    if language is None:
        return "Text"
    return table.DISPLAY_NAMES.get(language) or language.replace("_", " ").capitalize()


def linguist_name_to_language(name: str) -> str | None:
    """Return the language of `linguist-language=<name>` in `.gitattributes`; None if there is no grammar.

    Like linguist, ignores case and accepts a hyphen for a space.
    """
    return table.LINGUIST_NAMES.get(name.strip().lower().replace(" ", "-"))
