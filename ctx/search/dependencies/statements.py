"""Readers of import statements, one per language, over tree-sitter nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ctx.search.dependencies.types import Import

if TYPE_CHECKING:
    from tree_sitter import Node

_LOADS = {"require", "import"}
"""Functions of JavaScript that load a module."""


def text_of(node: Node | None, source: bytes) -> str:
    """Return the text of a node. `Node.text` is empty for trees that were parsed incrementally."""
    return "" if node is None else source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def line_of(node: Node) -> int:
    """Return the first line of a node, counted from 1."""
    return int(node.start_point[0]) + 1


def python(node: Node, source: bytes) -> Iterator[Import]:
    """Yield the imports of `import` and `from … import`."""
    line = line_of(node)
    if node.type == "import_statement":
        for name in node.children_by_field_name("name"):
            whole = name.child_by_field_name("name") if name.type == "aliased_import" else name
            yield Import(text_of(whole, source), "", line)
        return
    origin = text_of(node.child_by_field_name("module_name"), source)
    module = origin.lstrip(".")
    level = len(origin) - len(module)
    if any(child.type == "wildcard_import" for child in node.children):
        yield Import(module, "*", line, level)
    for name in node.children_by_field_name("name"):
        imported = name.child_by_field_name("name") if name.type == "aliased_import" else name
        yield Import(module, text_of(imported, source), line_of(name), level)


def javascript(node: Node, source: bytes) -> Iterator[Import]:
    """Yield the imports of `import`, `export … from`, `require(…)` and `import(…)`."""
    if node.type == "call_expression" and text_of(node.child_by_field_name("function"), source) not in _LOADS:
        return
    line = line_of(node)
    origin = node.child_by_field_name("source") or _first_string(node)
    module = text_of(origin, source).strip("\"'`")
    if not module:
        return
    names = [one for one in _below(node, {"import_specifier", "export_specifier"}) if one is not node]
    for name in names:
        yield Import(module, text_of(name.child_by_field_name("name"), source), line_of(name))
    if not names:
        everything = any(child.type == "*" for child in node.children)
        yield Import(module, "*" if everything else "", line)
    elif node.type == "import_statement":
        clause = next((child for child in node.children if child.type == "import_clause"), None)
        if clause is not None and any(child.type == "identifier" for child in clause.children):
            yield Import(module, "", line)


def java(node: Node, source: bytes) -> Iterator[Import]:
    """Yield the imports of an import declaration."""
    yield _dotted(node, source, {"scoped_identifier", "identifier"}, "asterisk")


def kotlin(node: Node, source: bytes) -> Iterator[Import]:
    """Yield the imports of an import header."""
    yield _dotted(node, source, {"identifier"}, "wildcard_import")


def _dotted(node: Node, source: bytes, names: set[str], wildcard: str) -> Import:
    path = text_of(next((one for one in node.children if one.type in names), None), source)
    if any(child.type == wildcard for child in node.children):
        return Import(path, "*", line_of(node))
    module, _, name = path.rpartition(".")
    return Import(module, name, line_of(node))


def csharp(node: Node, source: bytes) -> Iterator[Import]:
    """Yield the imports of `using N`, `using static N.T` and `using A = N.T`."""
    alias = node.child_by_field_name("name")
    named = [one for one in node.children if one.type in ("qualified_name", "identifier") and one != alias]
    if not named:
        return
    path = text_of(named[-1], source)
    if alias is not None or any(child.type == "static" for child in node.children):
        module, _, name = path.rpartition(".")
        yield Import(module, name, line_of(node))
    else:
        yield Import(path, "*", line_of(node))


def php(node: Node, source: bytes) -> Iterator[Import]:
    """Yield the imports of `use` outside of classes, and of `require` and `include` of a string."""
    if node.type != "namespace_use_declaration":
        string = _first_string(node)
        if string is not None:
            yield Import("./" + text_of(string, source).strip("\"'").lstrip("/"), "", line_of(node))
        return
    group = next((text_of(child, source) for child in node.children if child.type == "namespace_name"), "")
    for clause in _below(node, {"namespace_use_clause"}):
        imported = next((one for one in clause.children if one.type in ("qualified_name", "name")), None)
        path = text_of(imported, source).lstrip("\\")
        module, _, name = (f"{group}\\{path}" if group else path).rpartition("\\")
        yield Import(module, name, line_of(clause))


def golang(node: Node, source: bytes) -> Iterator[Import]:
    """Yield the imports of an import spec."""
    yield Import(text_of(node.child_by_field_name("path"), source).strip('"`'), "", line_of(node))


def rust(node: Node, source: bytes) -> Iterator[Import]:
    """Yield the imports of `use`, with nested lists, and of `mod name;`.

    Paths to modules that are defined inline in the same file are omitted.
    """
    depth = _modules_around(node)
    if node.type == "mod_item":
        if node.child_by_field_name("body") is None and not depth:
            yield Import("self", text_of(node.child_by_field_name("name"), source), line_of(node))
        return
    argument = node.child_by_field_name("argument")
    if argument is None:
        return
    for one in _rust_paths(argument, source, ""):
        parts = one.module.split("::")
        levels_up = 0
        while levels_up < min(depth, len(parts)) and parts[levels_up] == "super":
            levels_up += 1
        if depth == levels_up and levels_up and len(parts) > levels_up and parts[levels_up] != "super":
            yield one._replace(module="::".join(["self", *parts[levels_up:]]))
        elif not depth or parts[0] not in ("self", "super"):
            yield one
        elif len(parts) > levels_up and parts[levels_up] == "super":
            yield one._replace(module="::".join(parts[levels_up:]))


def _modules_around(node: Node) -> int:
    """Return the number of inline modules that enclose a node."""
    depth, above = 0, node.parent
    while above is not None:
        depth += above.type == "mod_item"
        above = above.parent
    return depth


def _rust_paths(node: Node, source: bytes, prefix: str) -> Iterator[Import]:
    if node.type == "scoped_use_list":
        path = text_of(node.child_by_field_name("path"), source)
        listed = node.child_by_field_name("list")
        below = "::".join(part for part in (prefix, path) if part)
        for child in () if listed is None else listed.named_children:
            yield from _rust_paths(child, source, below)
    elif node.type == "use_list":
        for child in node.named_children:
            yield from _rust_paths(child, source, prefix)
    elif node.type == "use_as_clause":
        renamed = node.child_by_field_name("path")
        if renamed is not None:
            yield from _rust_paths(renamed, source, prefix)
    elif node.type == "use_wildcard":
        path = text_of(node, source).removesuffix("*").removesuffix("::")
        yield Import("::".join(part for part in (prefix, path) if part), "*", line_of(node))
    elif node.type == "self":
        yield Import(prefix, "", line_of(node))
    elif node.type in ("scoped_identifier", "identifier", "crate", "super"):
        whole = "::".join(part for part in (prefix, text_of(node, source)) if part)
        module, _, name = whole.rpartition("::")
        yield Import(module, name, line_of(node))


def _first_string(node: Node) -> Node | None:
    return next(_below(node, {"string", "encapsed_string"}), None)


def _below(node: Node, kinds: set[str]) -> Iterator[Node]:
    """Yield the nodes of some kinds in a statement, in order."""
    stack = [node]
    while stack:
        one = stack.pop()
        if one.type in kinds:
            yield one
        else:
            stack.extend(reversed(one.children))
