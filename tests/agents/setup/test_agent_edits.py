"""Tests of edits of configuration: removal is the exact inverse of insertion, for any text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx.agents.setup import blocks, json_edits, pieces
from ctx.agents.setup.jsonc import Unreadable, parse
from ctx.agents.setup.pieces import BLOCK, ITEM, MEMBER, TABLE, Piece

SERVER = {"command": "/usr/bin/git-ctx", "args": ["mcp"], "env": {}}
HOOK = {"matcher": "a|b", "hooks": [{"type": "command", "command": "/x/git-ctx agent-hook claude session"}]}

spaces = st.sampled_from(
    ["", " ", "\n", "\n  ", "\n\t", "\r\n    ", " // note\n ", " /* c */ ", "\n// { [\n", "\t"]
)
names = st.sampled_from(["a", "mcpServers", "hooks", "SessionStart", "ünï", 'q"\\', "z"])
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-9, 9),
    st.sampled_from([1.5, -2e3]),
    st.text('ab"\\\n/*ü{', max_size=5),
)


@st.composite
def values(draw: st.DrawFn, depth: int = 3, must_be_object: bool = False) -> str:
    """Generate JSON text with comments, trailing commas and spaces anywhere."""
    kind = (
        "object"
        if must_be_object
        else draw(st.sampled_from(["scalar", "object", "list"] if depth else ["scalar"]))
    )
    if kind == "scalar":
        return json.dumps(draw(scalars), ensure_ascii=draw(st.booleans()))
    count = draw(st.integers(0, 3))
    keys = draw(st.lists(names, min_size=count, max_size=count, unique=True))
    items = []
    for key in keys:
        value = draw(values(depth - 1))
        if kind == "object":
            value = f"{json.dumps(key)}{draw(spaces)}:{draw(spaces)}{value}"
        items.append(f"{draw(spaces)}{value}{draw(spaces)}")
    comma = "," if items and draw(st.booleans()) else ""
    inside = ",".join(items) + comma + draw(spaces)
    return "{" + inside + "}" if kind == "object" else "[" + inside + "]"


@st.composite
def documents(draw: st.DrawFn) -> str:
    mark = "\ufeff" if draw(st.booleans()) else ""
    return mark + draw(spaces) + draw(values(must_be_object=True)) + draw(spaces)


@given(documents())
def test_removal_is_the_inverse_of_insertion(text):
    plain = parse(text).root.plain
    for piece in (
        Piece(MEMBER, "mcp", ("mcpServers", "git-ctx"), SERVER),
        Piece(ITEM, "hooks", ("hooks", "SessionStart"), HOOK),
    ):
        try:
            new, action, trace = pieces.put(text, piece, None)
        except Unreadable:
            # The user's file has another kind of value in this place, such as a list instead of an object.
            outer = plain.get(piece.keys[0], {})
            assert not isinstance(outer, dict) or (piece.form == ITEM and piece.keys[1] in outer)
            continue
        assert action == "put"
        value = parse(new).root.plain[piece.keys[0]][piece.keys[1]]
        assert value == SERVER if piece.form == MEMBER else value[-1] == HOOK
        assert pieces.put(new, piece, None)[:2] == (new, "keep")
        assert pieces.recognised(new, piece)
        assert pieces.take(new, piece, trace) == text
        # Without a trace only whitespace and empty containers may differ.
        again = pieces.take(new, piece, None)
        assert parse(again).comments == parse(text).comments


@given(documents(), st.permutations(range(4)))
def test_several_pieces_are_removed_in_any_order(text, order):
    wanted = [
        Piece(MEMBER, "mcp", ("mcpServers", "git-ctx"), SERVER),
        Piece(ITEM, "hooks", ("hooks", "SessionStart"), HOOK),
        Piece(ITEM, "hooks", ("hooks", "SessionEnd"), HOOK),
        Piece(ITEM, "hooks", ("hooks", "PreToolUse"), HOOK),
    ]
    new, traces = text, {}
    for number, piece in enumerate(wanted):
        try:
            new, _, traces[number] = pieces.put(new, piece, None)
        except Unreadable:
            continue
    for number in order:
        if number in traces:
            new = pieces.take(new, wanted[number], traces[number])
    assert parse(new).comments == parse(text).comments
    plain = parse(new).root.plain
    if plain != parse(text).root.plain:
        # After removal in another order, a container created for the first piece may be left empty.
        assert {**plain, "hooks": None} == {**parse(text).root.plain, "hooks": None}
        assert plain["hooks"] == {}
    if list(order) == [3, 2, 1, 0]:
        assert new == text


@pytest.mark.parametrize("text", ["", "\n", "  \r\n", "\ufeff"])
def test_empty_file_gets_an_object(text):
    new, trace = json_edits.put(text, ["a", "b"], SERVER, append=False)
    assert new.startswith(text)
    assert parse(new).root.plain == {"a": {"b": SERVER}}
    assert parse(json_edits.take(new, ["a", "b"], trace)).root.plain == {}


def test_comments_stay_where_they_were():
    text = '{\n  "a": {\n    "x": 1 // about x\n    // about nothing\n  }\n}\n'
    new, trace = json_edits.put(text, ["a", "git-ctx"], True, append=False)
    assert new == ('{\n  "a": {\n    "x": 1, // about x\n    "git-ctx": true\n    // about nothing\n  }\n}\n')
    later = new.replace('"git-ctx": true', '"git-ctx": true,\n    "mine": 2')
    assert json_edits.take(later, ["a", "git-ctx"], trace) == (
        '{\n  "a": {\n    "x": 1, // about x\n    "mine": 2\n    // about nothing\n  }\n}\n'
    )


def test_a_hook_that_the_user_put_beside_ours_stays():
    piece = Piece(ITEM, "hooks", ("hooks", "SessionStart"), HOOK)
    new, _, trace = pieces.put("{}", piece, None)
    mine = {"type": "command", "command": "./mine.sh"}
    changed = json.loads(new)
    changed["hooks"]["SessionStart"][0]["hooks"].append(mine)
    left = pieces.take(json.dumps(changed), piece, trace)
    assert json.loads(left) == {"hooks": {"SessionStart": [{"matcher": "a|b", "hooks": [mine]}]}}


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1', '{"a" 1}', "{a: 1}", '{"a": 1} x', '{"a": 01}', '{"a": "\n"}', '{"a": 1,,}', "[1 2]",
        '{"a": tru}', "{'a': 1}", "<xml/>", '{"a": "\\x"}', "[" * 5000, '{"a": /* 1}',
    ],
)  # fmt: skip
def test_invalid_json_is_refused_with_its_line(text):
    with pytest.raises(Unreadable, match="line 1: "):
        parse(text)


lines = st.lists(st.sampled_from(["# a", "text", "", "  indented ", "- ü", "[table]", "k = 1"]), max_size=6)


@given(lines, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
def test_block_is_inserted_replaced_and_removed(found, eol, ends, mark):
    text = ("\ufeff" if mark else "") + eol.join(found) + (eol if ends and found else "")
    new, before = blocks.put(text, blocks.MARKDOWN, "one\n\ntwo")
    assert blocks.find(new, blocks.MARKDOWN).body == "one\n\ntwo"
    changed = blocks.replace(new, blocks.MARKDOWN, "three")
    assert blocks.replace(changed, blocks.MARKDOWN, "one\n\ntwo") == new
    assert blocks.take(new, blocks.MARKDOWN, before) == text
    # Text that is written around it later stays.
    assert blocks.take("Before\n" + new + "after\n", blocks.MARKDOWN, before) == "Before\n" + text + "after\n"


def test_edited_sentinels_are_reported():
    for text in (
        f"{blocks.MARKDOWN.start}\nx\n",
        f"x\n{blocks.MARKDOWN.end}\n",
        f"{blocks.MARKDOWN.start}\n{blocks.MARKDOWN.start}\n{blocks.MARKDOWN.end}\n",
    ):
        with pytest.raises(Unreadable, match="edited"):
            pieces.put(text, Piece(BLOCK, "instructions", (), "x"), None)


TABLES = [
    "",
    'model = "x"',
    "[mcp_servers.docs]\ncommand = 'docs'\n",
    'mcp_servers.docs.command = "docs"\n',
    "[[a]]\nb = 1\n\n# end\n",
    's = """\n[mcp_servers.git-ctx]\n"""\r\n',
]
TABLE_PIECE = Piece(
    TABLE, "mcp", ("mcp_servers", "git-ctx"), '[mcp_servers.git-ctx]\ncommand = "/x/git-ctx"\nargs = ["mcp"]'
)


@pytest.mark.parametrize("text", TABLES)
def test_table_is_inserted_into_toml_and_removed(text):
    new, _, trace = pieces.put(text, TABLE_PIECE, None)
    assert blocks.read_toml(new)["mcp_servers"]["git-ctx"] == {"command": "/x/git-ctx", "args": ["mcp"]}
    assert pieces.take(new, TABLE_PIECE, trace) == text


@pytest.mark.parametrize(
    "text",
    ["mcp_servers = {}\n", '[mcp_servers]\ngit-ctx = "mine"\n', "[mcp_servers.git-ctx]\ncommand = 'y'\n"],
)
def test_toml_without_room_for_the_table_is_left_alone(text):
    with pytest.raises(Unreadable):
        pieces.put(text, TABLE_PIECE, None)


def test_a_setting_that_was_written_into_our_table_is_not_lost():
    new, _, trace = pieces.put("", TABLE_PIECE, None)
    with pytest.raises(Unreadable):
        pieces.take(new + "[a]\nb = 1\n\n[mcp_servers.git-ctx.env]\nX = '1'\n", TABLE_PIECE, trace)
