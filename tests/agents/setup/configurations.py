"""Configuration files as people have them: comments, other servers and hooks, Windows line ends, a byte order
mark, no last line end, one line, tabs, nothing at all, a link.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

SCRIPT = os.path.join(os.path.dirname(sys.executable), "git-ctx")
"""The program under test."""

FILES: dict[str, bytes] = {
    ".mcp.json": b"""{
  "mcpServers": {
    "github": {
      "type": "http",
      "url": "https://api.example.com/mcp/"
    },
    "context7": { "command": "npx", "args": ["-y", "@upstash/context7-mcp"] }
  }
}
""",
    ".claude/settings.json": b"""{
    "permissions": {
        "allow": ["Bash(npm run test:*)", "Bash(git diff:*)"],
        "deny": []
    },
    "hooks": {
        "PreToolUse": [
            {
                "matcher": "Edit|Write",
                "hooks": [{"type": "command", "command": "\\"$CLAUDE_PROJECT_DIR\\"/.claude/hooks/check.sh"}]
            }
        ],
        "SessionStart": []
    },
    "model": "opus"
}""",
    ".vscode/mcp.json": b"""// Servers for this workspace. \xe2\x80\x94 see the wiki
{
\t"inputs": [
\t\t{ "type": "promptString", "id": "key", "password": true, },
\t],
\t"servers": {
\t\t/* started by hand:
\t\t   "local": {} */
\t\t"playwright": { "command": "npx", "args": ["-y", "@playwright/mcp@latest"] }, // browser
\t},
}
""",
    ".codex/config.toml": (
        b'# Codex\nmodel = "gpt-5"\n\n[mcp_servers.docs]   # ours\ncommand = "docs"\n'
        b'args = [\n  "a",  # one\n]\n\n'
        b'[projects."/src/a b"]\ntrust_level = "trusted"'
    ).replace(b"\n", b"\r\n"),
    ".cursor/mcp.json": b'{"mcpServers":{"a":{"url":"http://localhost:1/sse"}}}',
    ".cursor/hooks.json": b"""{ "version": 1,
  "hooks": {
    "afterFileEdit": [ { "command": "./format.sh" } ]
  }
}
""",
    ".gemini/settings.json": b'{\r\n\t"theme": "GitHub", // dark is worse  \r\n\t"mcpServers": {}\r\n}\r\n',
    "opencode.jsonc": b"""{
  "$schema": "https://opencode.ai/config.json",
  // one model for all
  "model": "anthropic/claude-sonnet",
  "mcp": {
    // nothing yet
  }
}
""",
    ".zed/settings.json": b"""// Zed settings
//
{
  "tab_size": 2,
  "context_servers": {
    "postgres": {
      "command": "pg",
      "args": [] // none
    }
    // "old": {}
  } /* end */
}
""",
    ".junie/mcp/mcp.json": b"",
    "AGENTS.md": b"\xef\xbb\xbf# Rules\r\n\r\n- Use tabs.\r\n\r\n",
    "GEMINI.md": b"Be brief.\n\nNo last line end.",
    ".github/copilot-instructions.md": b"\n",
}
LINKS = {"CLAUDE.md": "AGENTS.md"}


def lay(root: Path, names: list[str] | None = None) -> None:
    """Write the files (all, or those of the given names) below a directory."""
    for name, content in FILES.items():
        if names is None or name in names:
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    for name, target in LINKS.items():
        if names is None or name in names:
            (root / name).symlink_to(target)


def tree(root: Path) -> dict[str, object]:
    """Return all entries below a directory except .git: bytes and modes, link targets, directories."""
    found: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if name == ".git" or name.startswith(".git/"):
            continue
        if path.is_symlink():
            found[name] = str(path.readlink())
        elif path.is_dir():
            found[name] = None
        else:
            found[name] = (path.read_bytes(), path.stat().st_mode)
    return found
