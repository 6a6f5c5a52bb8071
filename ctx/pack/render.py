"""Rendering of a pack for a language model as Markdown, XML or JSON.

Nothing is selected here; the output of these functions is what counts against the budget.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

from ctx.pack.types import CHANGED, JSON, MARKDOWN, UNCHANGED, XML, Excerpt, Pack, PackedFile
from ctx.text.escaping import escape_control, escape_control_lines

SHORT = 12
"""Digits of a blob's id in a citation."""
_INTRODUCTION = (
    "Excerpts of {tree}, chosen for the task. The line above each is its citation, <blob>:<first>-<last>, "
    "which `git ctx show` prints; … stands for lines left out."
)
_UPDATE = "An update of pack {parent}: what is not named here still holds."
_FENCE = re.compile(r"^[^\S\n]*(`{3,})", re.MULTILINE)

TextOf = Callable[[PackedFile, Excerpt], str]
"""Returns the text of an excerpt."""


class Form(NamedTuple):
    """An output format. `whole` renders a pack; `file` and `excerpt` approximate what one of these adds."""

    whole: Callable[[Pack, TextOf], str]
    file: Callable[[PackedFile], str]
    excerpt: Callable[[PackedFile, Excerpt, str], str]


def cited(file: PackedFile, excerpt: Excerpt) -> str:
    """Return the citations of an excerpt, one for each range."""
    blob = (file.blob or "")[:SHORT]
    ranges = " ".join(f"{first}-{last}" for first, last in excerpt.ranges)
    return f"{blob}:{ranges.replace(' ', f' {blob}:')}"


def sent(pack: Pack) -> list[PackedFile]:
    """Return the files to render: all, or in an incremental update those not unchanged."""
    whole = pack.delta is not None and pack.delta.complete is not None
    return [file for file in pack.files if whole or file.state != UNCHANGED]


def reasons(file: PackedFile) -> str:
    """Return a short reason why a file is in the pack."""
    found: list[str] = []
    for one in file.evidence:
        if one["kind"] == "named":
            what = one.get("symbol") or one.get("path") or ""
            line = f":{one['line']}" if "line" in one else ""
            found.append(f"named in the {str(one['origin']).replace('_', ' ')}: {what}{line}")
        elif one["kind"] == "change":
            found.append(f"{one['state']} in the range")
        elif one["kind"] == "dependency":
            found.append(f"{one['relation']} {one['symbol']}")
        elif one["kind"] == "ranking" and not found:
            found.append(", ".join(one["for"][:2]))
    return "; ".join(dict.fromkeys(filter(None, found[:3])))


def _about(pack: Pack) -> str:
    commit = f", commit {pack.commit[:SHORT]}" if pack.commit else ""
    return f"tree {pack.tree[:SHORT]} ({escape_control(pack.revision)}{commit})"


def _symbols(file: PackedFile) -> str:
    names = dict.fromkeys(excerpt.symbol for excerpt in file.excerpts if excerpt.symbol)
    return ", ".join(escape_control(name) for name in list(names)[:4])


def _map_line(file: PackedFile) -> str:
    path = escape_control(file.path)
    state = f" ({file.state})" if file.state else ""
    why = "; ".join(filter(None, (_symbols(file), escape_control(reasons(file)))))
    rest = f" [no excerpt: {file.omission}]" if file.omission else ""
    return f"- {path}{state}" + (f": {why}" if why else "") + rest


def _delta_lines(pack: Pack) -> list[str]:
    delta = pack.delta
    if delta is None:
        return []
    if delta.complete:
        return [
            f"Replaces pack {delta.parent} as a whole ({delta.complete}): discard all of its excerpts.",
            "",
        ]
    lines = [_UPDATE.format(parent=delta.parent)]
    changed = [escape_control(file.path) for file in pack.files if file.state == CHANGED]
    if changed:
        lines.append(f"Discard its excerpts of {', '.join(changed)}: they are replaced below.")
    gone = [f"{escape_control(one.path)} ({one.reason})" for one in delta.removed]
    if gone:
        lines.append(f"Discard its excerpts of {', '.join(gone)}.")
    same = [escape_control(file.path) for file in pack.files if file.state == UNCHANGED]
    if same:
        lines.append(f"Unchanged: {', '.join(same)}.")
    return [*lines, ""]


def _markdown(pack: Pack, text_of: TextOf) -> str:
    lines = ["# Task", "", escape_control_lines(pack.task.strip()), "", "# Context", ""]
    lines += [_INTRODUCTION.format(tree=_about(pack)), ""]
    lines += _delta_lines(pack)
    if pack.message:
        lines += [f"Note: {escape_control(pack.message)}", ""]
    files = sent(pack)
    if files:
        lines += ["## Files", "", *map(_map_line, files)]
    parts = ["\n".join(lines)]
    for file in files:
        if file.excerpts:
            parts.append(_markdown_head(file))
            parts += [_markdown_excerpt(file, one, text_of(file, one)) for one in file.excerpts]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _markdown_head(file: PackedFile) -> str:
    return f"## {escape_control(file.path)}"


def _markdown_excerpt(file: PackedFile, excerpt: Excerpt, text: str) -> str:
    fence = "```"
    for found in _FENCE.findall(text):
        fence = max(fence, found + "`", key=len)
    title = " ".join(filter(None, (cited(file, excerpt), escape_control(excerpt.symbol))))
    why = f" ({escape_control(excerpt.why)})" if excerpt.why else ""
    return f"{title}{why}\n{fence}{file.language or ''}\n{escape_control_lines(text)}\n{fence}"


def _xml(pack: Pack, text_of: TextOf) -> str:
    lines = [
        f"<pack tree={_attribute(pack.tree[:SHORT])} revision={_attribute(pack.revision)}>",
        f"<task>{_cdata(pack.task.strip())}</task>",
        f"<note>{_cdata(_INTRODUCTION.format(tree=_about(pack)))}</note>",
    ]
    update = " ".join(filter(None, _delta_lines(pack)))
    if update:
        lines.append(f"<update>{_cdata(update)}</update>")
    if pack.message:
        lines.append(f"<note>{_cdata(pack.message)}</note>")
    for file in sent(pack):
        lines.append(_xml_head(file))
        lines += [_xml_excerpt(file, one, text_of(file, one)) for one in file.excerpts]
        lines.append("</file>")
    return "\n".join([*lines, "</pack>\n"])


def _xml_head(file: PackedFile) -> str:
    state = f" state={_attribute(file.state)}" if file.state else ""
    omission = f" omission={_attribute(file.omission)}" if file.omission else ""
    return f"<file path={_attribute(file.path)}{state}{omission} reason={_attribute(reasons(file))}>"


def _xml_excerpt(file: PackedFile, excerpt: Excerpt, text: str) -> str:
    symbol = f" symbol={_attribute(excerpt.symbol)}" if excerpt.symbol else ""
    why = f" reason={_attribute(excerpt.why)}" if excerpt.why else ""
    return f"<excerpt citation={_attribute(cited(file, excerpt))}{symbol}{why}>{_cdata(text)}</excerpt>"


def _attribute(text: str) -> str:
    return quoteattr(escape_control(text))


def _cdata(text: str) -> str:
    """Return text as CDATA, so that code needs no escapes; `]]>` in the text is split."""
    return "<![CDATA[" + escape_control_lines(text).replace("]]>", "]]]]><![CDATA[>") + "]]>"


def _json(pack: Pack, text_of: TextOf) -> str:
    value: dict[str, Any] = {
        "task": pack.task.strip(),
        "tree": pack.tree[:SHORT],
        "revision": escape_control(pack.revision),
        "note": _INTRODUCTION.format(tree=_about(pack)),
    }
    update = " ".join(filter(None, _delta_lines(pack)))
    if update:
        value["update"] = update
    if pack.message:
        value["message"] = escape_control(pack.message)
    value["files"] = [
        {**_json_file(file), "excerpts": [_json_one(file, one, text_of(file, one)) for one in file.excerpts]}
        for file in sent(pack)
    ]
    return _dumped(value) + "\n"


def _json_file(file: PackedFile) -> dict[str, Any]:
    value = {"path": escape_control(file.path), "reason": escape_control(reasons(file))}
    if file.state:
        value["state"] = file.state
    if file.omission:
        value["omission"] = file.omission
    return value


def _json_one(file: PackedFile, excerpt: Excerpt, text: str) -> dict[str, str]:
    value = {"citation": cited(file, excerpt), "symbol": excerpt.symbol, "why": excerpt.why}
    return {**{key: one for key, one in value.items() if one}, "text": text}


def _dumped(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


FORMS = {
    MARKDOWN: Form(
        _markdown, lambda file: f"{_markdown_head(file)}\n{_map_line(file)}\n\n", _markdown_excerpt
    ),
    XML: Form(_xml, lambda file: _xml_head(file) + "\n</file>\n", _xml_excerpt),
    JSON: Form(
        _json,
        lambda file: _dumped({**_json_file(file), "excerpts": []}) + ",",
        lambda file, excerpt, text: _dumped(_json_one(file, excerpt, text)) + ",",
    ),
}


def prompt(pack: Pack, text_of: TextOf) -> str:
    """Return the text of a pack in its format."""
    return FORMS[pack.options.format].whole(pack, text_of)
