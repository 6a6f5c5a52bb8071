"""`git ctx agent-hook`, called by the hooks of coding agents: fast, and exits with 0 even after an error."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import click

_LARGEST = 1 << 20
"""Maximum bytes to read from an agent."""


@click.command(hidden=True, context_settings={"ignore_unknown_options": True})
@click.argument("agent")
@click.argument("event")
@click.argument("words", nargs=-1)
def command(agent: str, event: str, words: tuple[str, ...]) -> int:
    """Handle EVENT (session, prompt or tool) of AGENT; the agent's JSON is on stdin."""
    try:
        given = _input()
        if event == "session":
            _index(given)
        else:
            _hint(agent, event, given, with_server="mcp" in words)
    except Exception:
        # A failing hook must not block the agent.
        pass
    return 0


def _input() -> dict[str, Any]:
    """Return the JSON object that the agent wrote on stdin, {} if there is none."""
    if sys.stdin is None or sys.stdin.isatty():
        return {}
    found = json.loads(sys.stdin.buffer.read(_LARGEST) or b"{}")
    return found if isinstance(found, dict) else {}


def _index(given: dict[str, Any]) -> None:
    """Index HEAD in the background, as `git ctx index --silent` does."""
    from ctx.maintenance.background.run import run_detached

    directory = given.get("cwd")
    if isinstance(directory, str) and os.path.isdir(directory):
        os.chdir(directory)
    run_detached("session")


def _hint(agent: str, event: str, given: dict[str, Any], *, with_server: bool) -> None:
    """Print a hint for the agent if the state of its session calls for one."""
    from ctx.agents.setup import exploration
    from ctx.cli.commands.printing import print_json

    session = str(given.get("session_id") or "")
    state = exploration.load(agent, session) if session else None
    if state is None:
        return
    if event == "prompt":
        name, (new, is_due) = "prompt", exploration.after_prompt(state)
    else:
        arguments = given.get("tool_input")
        tool = str(given.get("tool_name", ""))
        found = arguments if isinstance(arguments, dict) else {}
        name, (new, is_due) = "nudge", exploration.after_tool(state, tool, found)
    # If the state cannot be stored, stay silent: the hint would be repeated every time.
    if new != state and exploration.keep(agent, session, new) and is_due:
        from ctx.agents.setup.texts import Wording, hook_sentence

        sentence = hook_sentence(name, Wording(server=with_server))
        print_json(
            {
                "hookSpecificOutput": {
                    "hookEventName": given.get("hook_event_name"),
                    "additionalContext": sentence,
                }
            }
        )
