"""Faults of a chunk boundary, found in a separate syntax tree, not in the one of the chunker.

Nothing of ctx is used: the grammars come from the wheel, and the tables below were written from the node
types of the grammars.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple, cast

from tree_sitter import Node, Parser
from tree_sitter_language_pack import SupportedLanguage, get_parser

_LISTS = {
    "python": "module block argument_list list dictionary set tuple parameters concatenated_string",
    "javascript": "program statement_block class_body object array arguments formal_parameters switch_body"
    " switch_case switch_default jsx_element jsx_fragment named_imports export_clause template_string"
    " variable_declaration lexical_declaration",
    "typescript": "program statement_block class_body object array arguments formal_parameters switch_body"
    " switch_case switch_default jsx_element jsx_fragment named_imports export_clause template_string"
    " interface_body object_type enum_body union_type intersection_type tuple_type type_arguments"
    " variable_declaration lexical_declaration",
    "java": "program class_body interface_body enum_body enum_body_declarations annotation_type_body block"
    " constructor_body switch_block switch_block_statement_group array_initializer argument_list"
    " formal_parameters element_value_array_initializer annotation_argument_list module_body",
    "kotlin": "source_file class_body enum_class_body statements lambda_literal function_body when_expression"
    " value_arguments control_structure_body import_list function_value_parameters class_parameters"
    " primary_constructor collection_literal",
    "csharp": "compilation_unit namespace_declaration file_scoped_namespace_declaration declaration_list"
    " block enum_member_declaration_list accessor_list switch_body switch_section initializer_expression"
    " argument_list parameter_list preproc_if preproc_else preproc_elif preproc_if_in_top_level"
    " switch_expression collection_expression",
    "php": "program declaration_list enum_declaration_list compound_statement array_creation_expression"
    " switch_block case_statement default_statement match_block colon_block arguments formal_parameters"
    " namespace_use_group",
    "go": "source_file block statement_list literal_value field_declaration_list interface_type var_spec_list"
    " const_declaration type_declaration var_declaration import_spec_list expression_case default_case"
    " type_case communication_case expression_switch_statement type_switch_statement select_statement"
    " argument_list parameter_list",
    "rust": "source_file declaration_list block enum_variant_list field_declaration_list match_block"
    " token_tree array_expression use_list macro_definition field_initializer_list arguments parameters"
    " tuple_expression or_pattern",
}
_LISTS["tsx"] = _LISTS["typescript"]
LISTS = {language: frozenset(names.split()) for language, names in _LISTS.items()}
"""Node types of each language whose children are independent: a boundary between them is no fault."""

COMMENTS = frozenset("comment line_comment block_comment multiline_comment".split())
LEADS = {
    "python": "decorator",
    "javascript": "decorator",
    "typescript": "decorator accessibility_modifier override_modifier",
    "tsx": "decorator accessibility_modifier override_modifier",
    "java": "annotation marker_annotation modifiers",
    "kotlin": "annotation modifiers",
    "csharp": "attribute_list modifier",
    "php": "attribute_list visibility_modifier static_modifier abstract_modifier final_modifier",
    "go": "",
    "rust": "attribute_item visibility_modifier",
}
"""Node types of each language that precede a declaration and belong to it."""
TEXTS = (
    frozenset(
        "string string_literal line_string_literal multi_line_string_literal raw_string_literal text_block"
        " verbatim_string_literal interpolated_string_expression heredoc nowdoc encapsed_string"
        " heredoc_body template_string interpreted_string_literal jsx_text".split()
    )
    | COMMENTS
)
"""Node types of text: one that is larger than a chunk has to be split somewhere."""
CLOSERS = frozenset("} ) ] > end }) ] ); }; },".split())

FAULTS = ("inside", "closer", "comment", "lead")
"""Inside a construct; after the closing syntax of another chunk; between a comment and its construct; between
a decorator, annotation or attribute and its declaration."""


class Verdict(NamedTuple):
    """The fault of a boundary, one of FAULTS or "", and the node that it splits.

    `leaf` is True if the node is a text or a token; `size` is in bytes.
    """

    fault: str
    node: str
    size: int
    leaf: bool


@cache
def _parser(language: str) -> Parser:
    return get_parser(cast("SupportedLanguage", language))


def parse(source: bytes, language: str) -> Node:
    """The root of a file's syntax tree."""
    return _parser(language).parse(source).root_node


def judge(source: bytes, root: Node, language: str, end: int, start: int) -> Verdict:
    """The boundary between a chunk that ends at `end` and the next one, whose text begins at `start`."""
    start += len(source[start:]) - len(source[start:].lstrip())
    around = list(_around(root, start))
    first = _leaf_at(root, start)
    while around and first is not None and first.type in COMMENTS and first.start_byte == start:
        if around[-1].end_byte != first.end_byte:
            break
        around.pop()  # in this grammar a node includes the comment before the next one
    last = _leaf_before(root, end)
    inner = around[-1] if around else root
    if language == "python":
        inner = _block_at(root, start, first) or inner
    text = next((node for node in around if node.type in TEXTS), None)
    if text is not None:
        return Verdict("inside", text.type, *_extent(text))
    if first is not None and not first.is_named and first.type in CLOSERS:
        return Verdict("closer", inner.type, *_extent(inner))
    if last is not None:
        leads = LEADS[language].split()
        lead = next((node for node in _lineage(last) if node.type in leads), None)
        if lead is not None and lead.end_byte <= end + 1:
            return Verdict("lead", lead.type, *_extent(lead))
    comment = None if last is None else next((one for one in _lineage(last) if one.type in COMMENTS), None)
    if (
        comment is not None
        and source[end:start].count(b"\n") < 2 - (source[comment.end_byte - 1 : comment.end_byte] == b"\n")
        and not source[source.rfind(b"\n", 0, comment.start_byte) + 1 : comment.start_byte].strip()
        and _leaf_is_code(first)
    ):
        return Verdict("comment", comment.type, *_extent(comment))
    if inner.type not in LISTS[language] and inner.type != "ERROR" and inner is not root:
        return Verdict("inside", inner.type, *_extent(inner))
    return Verdict("", inner.type, *_extent(inner))


def _block_at(root: Node, start: int, first: Node | None) -> Node | None:
    """The block that begins here; in another language it would begin with a brace."""
    while first is not None and first.type in COMMENTS:
        first = first.next_sibling
        while (
            first is not None and first.type not in COMMENTS and first.type != "block" and first.child_count
        ):
            first = first.children[0]
    if first is None:
        return None
    begins = (node for node in _lineage(first) if node.start_byte == first.start_byte)
    return next((node for node in begins if node.type == "block"), None)


def _extent(node: Node) -> tuple[int, bool]:
    return node.end_byte - node.start_byte, not node.child_count or node.type in TEXTS


def _leaf_is_code(leaf: Node | None) -> bool:
    return leaf is not None and all(one.type not in COMMENTS for one in _lineage(leaf))


def _around(root: Node, place: int) -> Iterator[Node]:
    """The nodes that begin before a byte and end after it, from the outermost."""
    node: Node | None = root
    while node is not None:
        if node.start_byte < place < node.end_byte:
            yield node
        node = next((one for one in node.children if one.start_byte < place < one.end_byte), None)


def _leaf_at(root: Node, place: int) -> Node | None:
    found = root.descendant_for_byte_range(place, place + 1)
    while found is not None and found.child_count:
        found = next((one for one in found.children if one.end_byte > place), None)
    return found


def _leaf_before(root: Node, place: int) -> Node | None:
    return root.descendant_for_byte_range(max(0, place - 1), place)


def _lineage(node: Node) -> Sequence[Node]:
    found = []
    one: Node | None = node
    while one is not None:
        found.append(one)
        one = one.parent
    return found
