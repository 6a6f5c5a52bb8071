"""Evidence and explanations as plain text, for the terminal and for agents."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from ctx.search.dependencies.types import Edge
from ctx.search.evidence.types import NOT_IN_TREE, SKIPPED, Explanation, FileHit
from ctx.text.escaping import escape_control
from ctx.text.paths import SHORT, citation, quoted, relative_path
from ctx.text.pluralize import pluralize

_MOST_LISTED = 8


def described(hit: FileHit) -> list[str]:
    """Return the reasons, score and excerpts of a hit as indented lines."""
    lines = [f"    {escape_control(reason)}" for reason in hit.reasons]
    if hit.contributions:
        lines.append(f"    {contributions_in_words(hit.contributions, hit.margin)}")
    for one in hit.excerpts:
        cited = citation(hit.blob, one.first, one.last, SHORT)
        lines.append(f"    {one.first}-{one.last}  {escape_control(one.symbol)}".rstrip() + f"  cite {cited}")
    return lines


def contributions_in_words(parts: Mapping[str, float], margin: float) -> str:
    """Return a score and its parts, largest first, as text."""
    ordered = sorted(parts.items(), key=lambda one: (-abs(one[1]), one[0]))
    listed = ", ".join(f"{name} {value:+.2f}" for name, value in ordered if abs(value) >= 0.005)
    return f"score {margin:.2f} = {listed}"


def explanation_in_words(explanation: Explanation, prefix: bytes) -> str:
    """Return an explanation as text; paths are relative to `prefix`."""
    lines = [f"{escape_control(explanation.about.message)}", ""] if explanation.about.message else []
    lines.append(quoted(relative_path(explanation.path, prefix)))
    if explanation.indexing == NOT_IN_TREE:
        there = f": {explanation.reason}" if explanation.reason else ""
        lines.append(escape_control(f"    not in the tree of {explanation.about.revision}{there}"))
    elif explanation.indexing == SKIPPED:
        lines.append(f"    not indexed: {explanation.reason}")
    else:
        rank = f"rank {explanation.rank} of {explanation.ranked}" if explanation.rank else "no rank"
        lines += [
            f"    indexed, {rank}",
            f"    {explanation.selection or 'selection unknown'}: {explanation.selection_reason}",
        ]
    if explanation.hit is not None:
        lines += described(explanation.hit)
    lines += _edges("uses", explanation.uses, prefix, outgoing=True)
    lines += _edges("used by", explanation.used_by, prefix, outgoing=False)
    about = explanation.about
    commit = f" {about.commit[:12]}" if about.commit else ""
    parts = [f"{about.revision}{commit}", f"tree {about.tree[:12]} ({about.resolved_by})"]
    if about.ranked_with:
        parts.append(f"ranked with {', '.join(about.ranked_with)}")
    lines.append(escape_control(f"-- {'; '.join(parts)}"))
    return "\n".join(lines)


def _edges(title: str, edges: Sequence[Edge], prefix: bytes, *, outgoing: bool) -> list[str]:
    """Return lines for edges grouped by file, with a few symbols each."""
    files: dict[bytes, list[Edge]] = {}
    for edge in edges:
        files.setdefault(edge.target_path if outgoing else edge.source_path, []).append(edge)
    lines = []
    for path, own in list(files.items())[:_MOST_LISTED]:
        symbols = ", ".join(dict.fromkeys(edge.symbol for edge in own[:4]))
        more = f" and {len(own) - 4} more" if len(own) > 4 else ""
        place = quoted(relative_path(os.fsdecode(path), prefix))
        lines.append(f"    {title} {place}: {own[0].relation} {escape_control(symbols)}{more}")
    if len(files) > _MOST_LISTED:
        lines.append(f"    {title} {pluralize(len(files) - _MOST_LISTED, 'more file')}")
    return lines
