"""The documents name what the program has: every command and every option, and nothing else."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import click
import pytest

from ctx import _version
from ctx.cli import main as cli
from ctx.git.settings import Settings
from ctx.models.settings import embedder_settings, expander_settings, reranker_settings

ROOT = Path(__file__).resolve().parents[2]
MANUAL = re.sub(r"\\f[BIR]", "", (ROOT / "docs/man/git-ctx.1").read_text(encoding="utf-8")).replace(
    "\\-", "-"
)
README = (ROOT / "README.md").read_text(encoding="utf-8")

OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][a-z-]*")
OF_OTHERS = {"-0", "-r", "-m", "-q", "--relative", "--git-common-dir"}
"""Options of other programs in examples."""


COMMANDS = [*cli.COMMANDS, *(f"model {name}" for name in cli.OLD_NAMES)]


def options_of(name: str) -> set[str]:
    command: click.Command = cli.program
    for word in name.split():
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word) or pytest.fail(word)
    found = {
        option
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for option in parameter.opts
    }
    return found - ({"-C", "--root"} if name else set())


def section(title: str) -> str:
    """The part of the manual from a heading to the next one."""
    return re.split(r"^\.S[SH] ", MANUAL.split(title + "\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_manual_has_the_options_of_each_command_and_no_others(name):
    tagged = re.findall(
        r"^\.TP\n(-.*)$", section(f".SS {name}" if name else ".SH COMMON OPTIONS"), re.MULTILINE
    )
    listed = {option for line in tagged for option in OPTION.findall(line)}
    assert listed == options_of(name) | (set() if name else {"-h"})


def test_readme_and_manual_name_no_option_that_is_not_there():
    known = set().union(*(options_of(name) for name in ["", *COMMANDS])) | {"-h", "--help"} | OF_OTHERS
    for line in README.splitlines() + MANUAL.splitlines():
        if "git ctx" in line or "git-ctx" in line:
            assert set(OPTION.findall(line.split("#")[0])) <= known, line


def test_manual_has_an_example_of_every_command():
    examples = section(".SH EXAMPLES")
    assert [name for name in COMMANDS if f"git ctx {name}" not in examples] == []


def test_readme_has_the_two_commands_that_are_checked():
    shell = "".join(re.findall(r"```sh\n(.*?)```", README, re.DOTALL)).splitlines()
    for part in ("git-ctx search", "-m pytest"):
        (line,) = [line for line in shell if part in line]
        assert line.startswith("python3 -m venv .venv && .venv/bin/pip install -q ")


def test_manual_is_of_this_version():
    assert f'"git-ctx {_version.__version__}"' in MANUAL
    assert re.search(r"^## \[", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)


def test_links_between_documents_lead_somewhere():
    for page in (ROOT / "README.md", ROOT / "docs/README.md"):
        for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
            assert target.startswith("https://") or (page.parent / target).exists(), (page.name, target)


def test_index_page_lists_every_page():
    listed = set(re.findall(r"\]\(([^)#]+)", (ROOT / "docs/README.md").read_text(encoding="utf-8")))
    there = {
        path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*") if path.is_file()
    }
    assert there - listed == {"README.md"}


def constants() -> set[str]:
    """The strings in the program that are spelled as settings, except for names of modules."""
    found = {"ctx.storage"}  # both
    for path in (ROOT / "ctx").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            name = node.value if isinstance(node, ast.Constant) else None
            if isinstance(name, str) and re.fullmatch(r"ctx\.[a-z]\w*(\.[a-z]\w*)?", name):
                module = ROOT / name.replace(".", "/")
                if not module.is_dir() and not module.with_suffix(".py").exists():
                    found.add(name)
    return found - {"ctx.letters"}  # an error handler of codecs


class Recorded(Settings):
    """Settings of model services that note what is read of them."""

    def __init__(self) -> None:
        url, dimensions = "http://localhost", "8"
        values = {f"ctx.{kind}.url": [url] for kind in ("embedder", "reranker", "expander")}
        super().__init__({**values, "ctx.embedder.model": ["m"], "ctx.embedder.dimensions": [dimensions]})
        self.read: set[str] = set()

    def get(self, key: str) -> str | None:
        self.read.add(key)
        return super().get(key)


def test_manual_has_every_setting_and_no_other():
    recorded = Recorded()
    for read in (embedder_settings, reranker_settings, expander_settings):
        assert read(recorded) is not None
    tagged = re.findall(r"^\.TP\n(ctx\..*)$", section(".SH CONFIGURATION"), re.MULTILINE)
    listed = {name for line in tagged for name in line.split(", ")}
    assert listed == constants() | recorded.read
    of_services = recorded.read | {"ctx.modelTimeout", "ctx.allowInsecure"}
    page = set(re.findall(r"\w+", (ROOT / "docs/model-services.md").read_text(encoding="utf-8")))
    assert [name for name in of_services if name.rpartition(".")[2] not in page] == []


def test_documents_name_no_setting_that_is_not_there():
    known = {name.lower() for name in re.findall(r"ctx\.[\w.]*\w", section(".SH CONFIGURATION"))}
    pages = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        named = re.findall(r"git config (?:--\S+ )*(ctx\.[\w.]*\w)", text)
        named += re.findall(r"`(ctx\.(?:embedder|reranker|expander)\.\w+)`", text)
        assert [name for name in named if name.lower() not in known] == [], page.name
