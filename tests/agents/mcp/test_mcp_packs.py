"""Tests of packs as tools and as resources: made, updated, listed and read."""

from __future__ import annotations

import json
import stat
from typing import Any

import anyio
import pytest
from conversations import FILES, call_here, talk_here, text
from mcp import ClientSession
from mcp.shared.exceptions import MCPError
from repositories import Repo

import ctx
from ctx.pack.types import FORMATS, PackOptions
from ctx.text.tokens import counter

TASK = "push the expiry of an expired session into the future in renew_session"


@pytest.fixture
def project(repo: Repo) -> Repo:
    repo.commit(FILES)
    return repo


def test_pack_is_made_stored_listed_and_read(project: Repo) -> None:
    """The text stays within its budget, its slug is listed, and both ways of reading return the text."""

    async def conversation(session: ClientSession) -> Any:
        made = await session.call_tool("pack", {"task": TASK, "budgetTokens": 600})
        slug = made.structured_content["slug"]
        return (
            made,
            await session.call_tool("list_packs", {}),
            await session.call_tool("read_pack", {"slug": slug[:12]}),
            await session.call_tool("read_pack", {"slug": "latest"}),
            (await session.list_resources()).resources,
            await session.read_resource(f"context://packs/{slug}"),
        )

    made, listed, read, latest, resources, resource = talk_here(project.path, conversation)
    values = made.structured_content
    assert "def renew_session" in text(made)
    assert counter()(text(made)) == values["tokens"] <= values["budgetTokens"] == 600
    assert "src/session.py" in [file["path"] for file in values["files"]]
    assert [one["slug"] for one in listed.structured_content["packs"]] == [values["slug"]]
    assert values["slug"] in text(listed)
    assert text(read) == text(latest) == text(made) == resource.contents[0].text
    assert resource.contents[0].mime_type == "text/markdown"
    assert [one.uri for one in resources] == [values["uri"]] == [resource.contents[0].uri]
    (folder,) = (project.path / ".git" / "ctx" / "packs").iterdir()
    assert folder.name == values["slug"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    assert project.git("status", "--porcelain") == b""


def test_explain_reports_the_status_of_a_file(project: Repo) -> None:
    """A matching file, one that does not match, one that is not indexed, and a missing one."""
    project.commit({"logo.png": b"\x89PNG\0\0"})
    found, other, skipped, absent = call_here(
        project.path,
        *[
            ("explain", {"task": TASK, "path": path})
            for path in ("src/session.py", "secret.txt", "logo.png", "src/nothing.py")
        ],
    )
    values = found.structured_content
    assert (values["rank"], values["indexing"]["status"], values["selection"]["status"]) == (
        1,
        "indexed",
        "selected",
    )
    assert values["contributions"]
    assert "src/session.py" in text(found)
    assert other.structured_content["selection"]["status"] != "selected"
    assert skipped.structured_content["indexing"] == {"status": "skipped", "reason": "binary"}
    assert absent.structured_content["indexing"]["status"] != "indexed"
    assert "not in the tree" in text(absent)


def test_update_sends_the_edited_file(project: Repo) -> None:
    def edit() -> None:
        source = str(FILES["src/session.py"])
        project.write({"src/session.py": source.replace("store(token)", "store(token, later=True)")})

    before, after = call_here(
        project.path, ("pack", {"task": TASK, "maxFiles": 5}), edit, ("pack", {"update": "latest"})
    )
    assert after.structured_content["parentPack"] == before.structured_content["slug"]
    states = {file["path"]: file["state"] for file in after.structured_content["files"]}
    assert states["src/session.py"] == "changed"
    assert "later=True" in text(after)
    assert "Backoff" not in text(after).replace(TASK, "")


def test_calls_that_write_run_one_after_the_other(project: Repo) -> None:
    """Twenty concurrent calls make twenty complete packs."""

    async def conversation(session: ClientSession) -> Any:
        made: list[Any] = []

        async def one(number: int) -> None:
            made.append(await session.call_tool("pack", {"task": f"{TASK}, case {number}"}))

        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(one, number)
        slugs = [result.structured_content["slug"] for result in made]
        return made, [await session.call_tool("read_pack", {"slug": slug}) for slug in slugs]

    made, read = talk_here(project.path, conversation)
    assert len({result.structured_content["slug"] for result in made}) == 20
    assert [text(result) for result in made] == [text(result) for result in read]


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("pack", {}, "needs task, or update"),
    ("pack", {"task": "the"}, "has only common words"),
    ("pack", {"task": TASK, "budgetTokens": 0}, "has to be 1 to"),
    ("pack", {"task": TASK, "budgetTokens": 1}, "tokens"),
    ("pack", {"task": TASK, "tokenizer": "gpt2"}, "has to be one of o200k_base, cl100k_base"),
    ("pack", {"task": TASK, "error_log": "/etc/passwd"}, "has no argument 'error_log'"),
    ("pack", {"task": TASK, "root": "/"}, "has no argument 'root'"),
    ("pack", {"update": "nowhere"}, "there is no pack"),
    ("pack", {"update": "../objects"}, "not a valid pack name"),
    ("read_pack", {"slug": "../../config"}, "not a valid pack name"),
    ("read_pack", {"slug": "."}, "not a valid pack name"),
    ("read_pack", {}, "needs slug"),
    ("explain", {"task": TASK}, "needs path"),
    ("explain", {"task": TASK, "path": "../outside"}, "not a path inside the project"),
    ("explain", {"task": TASK, "path": "/etc/passwd"}, "not a path inside the project"),
    ("explain", {"task": TASK, "path": "src/session.py", "error_log": "x"}, "has no argument 'error_log'"),
    ("list_packs", {"root": "/"}, "has no argument 'root'"),
]


def test_invalid_calls_are_tool_errors(project: Repo) -> None:
    results = call_here(project.path, *[(name, arguments) for name, arguments, _ in BAD])
    for result, (name, arguments, words) in zip(results, BAD, strict=True):
        assert result.is_error, (name, arguments, text(result))
        assert words in text(result), (name, arguments, text(result))
        assert "bug in git-ctx" not in text(result)


def test_former_names_of_arguments_are_accepted(project: Repo) -> None:
    former, now, twice = call_here(
        project.path,
        ("pack", {"task": TASK, "budget_tokens": 600, "max_files": 1}),
        ("pack", {"task": TASK, "budgetTokens": 600, "maxFiles": 1}),
        ("pack", {"task": TASK, "maxFiles": 1, "max_files": 2}),
    )
    assert text(former) == text(now)
    assert former.structured_content["budgetTokens"] == 600
    assert former.structured_content["slug"] == now.structured_content["slug"]
    assert "has no argument 'max_files'" in text(twice)


def test_resources_cannot_name_other_files(project: Repo) -> None:
    """URIs lead neither out of the store, nor into the directory of a pack, nor to another scheme."""

    async def conversation(session: ClientSession) -> Any:
        made = await session.call_tool("pack", {"task": TASK})
        slug = made.structured_content["slug"]
        refused = []
        for uri in (
            f"context://packs/{slug}/manifest.json",
            f"context://packs/{slug}/../{slug}",
            "context://packs/../../config",
            "context://packs/%2e%2e/%2e%2e/config",
            "context://packs/",
            "context://packs/latest",
            f"context://other/{slug}",
            f"file://{project.path}/.git/config",
            f"context://packs/{slug.upper()}",
            f"context://packs/{slug}\n",
        ):
            try:
                await session.read_resource(uri)
            except MCPError as error:
                refused.append((uri, error.message))
        return refused, await session.list_resource_templates()

    refused, templates = talk_here(project.path, conversation)
    assert len(refused) == 10
    assert all("there is no resource" in message for _, message in refused), refused
    assert [one.uri_template for one in templates.resource_templates] == [
        "context://packs/{slug}",
        "context://packs/{slug}/manifest",
    ]


def test_resources_have_correct_sizes_and_mime_types(project: Repo) -> None:
    """Sizes are those of the text read, in bytes, for each format; the task has multi-byte letters."""
    with ctx.open(project.path) as index:
        for form in FORMATS:
            made = index.pack(f"{TASK} – größer, {form}", PackOptions(format=form))
            index.packs.write(made.pack, made.prompt)

    async def conversation(session: ClientSession) -> Any:
        listed = (await session.list_resources()).resources
        return [(one, (await session.read_resource(one.uri)).contents[0]) for one in listed]

    found = talk_here(project.path, conversation)
    assert {one.mime_type for one, _ in found} == {"text/markdown", "application/xml", "application/json"}
    for one, content in found:
        assert one.size == len(content.text.encode())
        assert one.mime_type == content.mime_type


STORE = (
    "from src.session import renew_session\n\n\ndef store_session(token):\n    return renew_session(token)\n"
)


def test_answers_include_the_manifest_and_the_changes(project: Repo) -> None:
    project.commit({"src/store.py": STORE})
    source = str(FILES["src/session.py"])

    async def conversation(session: ClientSession) -> Any:
        made = await session.call_tool("pack", {"task": TASK, "maxFiles": 5})
        project.write({"src/session.py": source.replace("def renew_session", "def prolong_session")})
        project.write({"src/store.py": STORE.replace("renew_session", "prolong_session")})
        updated = await session.call_tool("pack", {"update": "latest"})
        read = await session.call_tool("read_pack", {"slug": "latest"})
        uri = updated.structured_content["manifestUri"]
        return made, updated, read, (await session.read_resource(uri)).contents[0]

    made, updated, read, resource = talk_here(project.path, conversation)
    first = made.structured_content
    assert (first["changes"], first["staleReferences"]) == (None, None)
    shown = {file["path"]: file for file in first["manifest"]["files"]}
    assert shown["src/session.py"]["excerptRanges"]
    assert shown["src/session.py"]["tokens"] > 0
    assert first["manifest"]["task"] == TASK
    assert first["manifest"]["truncated"] is False
    values = updated.structured_content
    assert set(values["changes"]["changed"]) == {"src/session.py", "src/store.py"}
    (stale,) = values["staleReferences"]
    assert (stale["sourcePath"], stale["targetPath"]) == ("src/store.py", "src/session.py")
    assert stale["symbol"] == "renew_session"
    assert {**read.structured_content, "message": None} == {**values, "message": None}
    assert resource.mime_type == "application/json"
    whole = json.loads(resource.text)
    assert whole["staleReferences"] == values["staleReferences"]
    assert whole["files"][0]["sourceHash"]
    assert whole["considered"]


def test_manifest_in_an_answer_stays_within_its_tokens(repo: Repo) -> None:
    repo.commit(
        {
            f"src/{'very_' * 8}long_name_{n}.py": f"def renew_session_{n}(token):\n    return token + {n}\n"
            for n in range(150)
        }
    )
    (made,) = call_here(
        repo.path, ("pack", {"task": "renew_session " * 300, "budgetTokens": 60_000, "maxFiles": 500})
    )
    values = made.structured_content
    kept = {name: values[name] for name in ("manifest", "changes", "staleReferences", "completeRefresh")}
    assert counter()(json.dumps(kept, ensure_ascii=False)) <= 2_000
    assert values["manifest"]["truncated"] is True
    assert values["manifest"]["files"]
    assert len(values["files"]) > len(values["manifest"]["files"])
