"""Tests of packs: contents, budget, and determinism for the same tree, task and options."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings
from shop_project import FILES, TASK

import ctx
from ctx.errors import UsageError
from ctx.pack.making import rank, selection_for
from ctx.pack.manifest import manifest
from ctx.pack.sources import Sources
from ctx.pack.types import BELOW_LIMIT, FORMATS, NO_ROOM, SELECTED, TOKEN_BUDGET, PackOptions
from ctx.search.opening import open_tree
from ctx.text.paths import citation
from ctx.text.tokens import TOKENIZERS, counter

GOLDEN = Path(__file__).parent / "golden"


def paths(made):
    return [file.path for file in made.pack.files]


def test_pack_matches_the_golden_text(index):
    """The whole text is compared, so that every change of it is seen."""
    made = index.pack(TASK)
    assert made.prompt == (GOLDEN / "PACK.md").read_text(encoding="utf-8")


def test_named_code_comes_first_with_its_neighbours(index):
    made = index.pack(TASK)
    assert paths(made)[0] == "shop/session.py"
    assert "def renew_session(self, token: str)" in made.prompt
    assert "class UnknownSession(Exception)" in made.prompt
    related = {
        (said["relation"], said["symbol"])
        for file in made.pack.files
        for said in file.evidence
        if said["kind"] == "dependency"
    }
    assert ("definition of", "monotonic_seconds") in related
    assert "def monotonic_seconds() -> float:" in made.prompt


def test_excerpt_of_a_test_has_its_setup_but_no_other_tests(index):
    made = index.pack("test that renew_session pushes the expiry of sessions")
    assert "test_renew_session_pushes_expiry" in made.prompt
    assert "self.store = SessionStore(lifetime=60)" in made.prompt
    assert "test_colours_of_buttons" not in made.prompt


def test_same_tree_task_and_options_give_the_same_pack(index, shop):
    one = index.pack(TASK)
    with ctx.open(shop.path) as other:
        again = other.pack(TASK)
    assert (again.prompt, again.pack) == (one.prompt, one.pack)
    assert index.pack(TASK, PackOptions(budget=500)).pack.slug != one.pack.slug


def test_excerpts_are_the_lines_that_they_cite(index):
    made = index.pack(TASK)
    for file in made.pack.files:
        lines = str(FILES[file.path]).split("\n")
        for excerpt in file.excerpts:
            for first, last in excerpt.ranges:
                text = "\n".join(lines[first - 1 : last])
                assert text in made.prompt
                cited = index.cited(citation(file.blob, first, last))
                assert cited.text == text


def test_contributions_add_up_and_hashes_match(index, shop):
    made = index.pack(TASK)
    for file in made.pack.files:
        assert sum(file.contributions.values()) == pytest.approx(file.score, abs=1e-4)
        assert file.blob == shop.git("rev-parse", f"HEAD:{file.path}").decode()
        assert len(file.digest) == 64


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    budget=st.integers(1, 2_500),
    files=st.integers(1, 8),
    form=st.sampled_from(FORMATS),
    tokenizer=st.sampled_from(TOKENIZERS),
    task=st.sampled_from([TASK, "how are invoices rendered", "éclair 会话 basket", "sum `a` <b> & ]]> ```c"]),
)
def test_text_stays_within_the_budget(index, budget, files, form, tokenizer, task):
    count = counter(tokenizer)
    try:
        made = index.pack(task, PackOptions(budget, files, tokenizer, form))
    except UsageError:
        assert budget < 250  # what the frame needs at most
        return
    assert count(made.prompt) == made.pack.tokens <= budget
    assert sum(1 for file in made.pack.files if file.excerpts) <= files


def test_each_format_can_be_read(index):
    made = index.pack(TASK, PackOptions(format="json"))
    value = json.loads(made.prompt)
    assert value["files"][0]["path"] == "shop/session.py"
    assert "renew_session" in "".join(one["text"] for one in value["files"][0]["excerpts"])
    made = index.pack("end ]]> of <b> & renew_session", PackOptions(format="xml"))
    root = ElementTree.fromstring(made.prompt)
    assert root.findtext("task") == "end ]]> of <b> & renew_session"
    assert {one.get("path") for one in root.iter("file")} >= {"shop/session.py"}


def test_considered_files_have_a_status(index):
    made = index.pack(TASK, PackOptions(max_files=1))
    status = {one.path: one.status for one in made.pack.considered}
    assert status["shop/session.py"] == SELECTED
    assert BELOW_LIMIT in status.values()


def test_file_without_room_has_an_omission_reason(index):
    made = index.pack(TASK, PackOptions(budget=200))
    left_out = [file for file in made.pack.files if not file.excerpts]
    assert "shop/login.py" in {file.path for file in left_out}
    for file in left_out:
        assert (file.omission, file.best) == (TOKEN_BUDGET, None)
    written = manifest(made.pack)["files"][-1]
    assert (written["excerptRange"], written["omissionReason"]) == (None, TOKEN_BUDGET)


def test_a_full_pack_reads_no_further_file(index):
    opened = open_tree(index.session, None, None, None)
    read = []

    def reading(blob):
        read.append(blob)
        return index.session.reader.read_blob(blob)

    ranking = rank(index.session, opened, {}, TASK, PackOptions(), ())
    ranking = ranking._replace(sources=Sources(reading))
    selection = selection_for(ranking, ranking.empty, counter("o200k_base"))
    selection.used = selection.budget - 10
    assert not any(selection.add(one, only=one.symbol) for one in ranking.found)
    assert not read
    assert {status for status, _ in selection.status.values()} == {NO_ROOM}


def test_oversized_line_is_omitted(make_repo):
    repo = make_repo("long")
    letters = " ".join(f"renew{n}" for n in range(900))
    repo.commit(
        {"a.py": f"def renew_session():\n    return '{letters}'\n", "b.py": "def other():\n    pass\n"}
    )
    with ctx.open(repo.path) as index:
        made = index.pack("fix renew_session in a.py")
    (file,) = [file for file in made.pack.files if file.path == "a.py"]
    assert letters not in made.prompt
    assert file.omission == "oversized_line" or all(
        last < 2 for one in file.excerpts for _, last in one.ranges
    )


def test_an_error_log_is_a_hint(index):
    task = "customers see an error page"
    log = """Traceback (most recent call last):
  File "/srv/app/shop/clock.py", line 13, in wall_clock
    return time.time()
OverflowError: no
    at Invoice.Total (C:\\\\build\\\\shop\\\\invoice.go:13:2)
"""
    made = index.pack(task, log=log)
    assert {"shop/clock.py", "shop/invoice.go"} <= set(paths(made)[:2])
    assert "def wall_clock" in made.prompt
    (said, *_) = [one for one in made.pack.files[0].evidence if one["kind"] == "named"]
    assert said["origin"] == "error_log"


def test_changes_of_a_range_come_first(index, shop):
    text = str(FILES["shop/basket.ts"]).replace("+ 1", "+ 2")
    shop.commit({"shop/basket.ts": text})
    made = index.pack("review what happens to customers", PackOptions(within="HEAD~1..HEAD"))
    assert paths(made)[0] == "shop/basket.ts"
    assert {"kind": "change", "state": "modified"} in made.pack.files[0].evidence


def test_a_revision_is_packed_as_it_was(index, shop):
    shop.commit({"shop/session.py": "gone = True\n"})
    assert "def renew_session" in index.pack(TASK, PackOptions(revision="HEAD~1")).prompt
    assert "def renew_session(self" not in index.pack(TASK).prompt


def test_uncommitted_code_is_packed(index, shop):
    shop.write({"shop/fresh.py": "def renew_session_twice():\n    return 'never committed'\n"})
    assert "never committed" in index.pack("renew_session_twice").prompt


@pytest.mark.parametrize("task", ["", "   ", "the", "of the"])
def test_task_without_content_is_refused(index, task):
    with pytest.raises(UsageError, match="task"):
        index.pack(task)


def test_named_file_that_is_not_in_the_tree_is_reported(index):
    message = index.pack("fix shop/sesion.py where sessions end").pack.message
    assert message is not None
    assert "shop/sesion.py" in message
    assert index.pack("fix shop/session.py where sessions end").pack.message is None


@pytest.mark.parametrize(
    "options",
    [
        PackOptions(budget=0),
        PackOptions(budget=1_000_001),
        PackOptions(max_files=0),
        PackOptions(max_files=1_001),
        PackOptions(tokenizer="p50k"),
        PackOptions(format="html"),
        PackOptions(revision="HEAD", within="HEAD"),
        PackOptions(budget=20),
    ],
)
def test_invalid_options_are_refused(index, options):
    with pytest.raises(UsageError):
        index.pack(TASK, options)


def test_names_that_are_not_plain_words(make_repo):
    repo = make_repo("odd names")
    repo.commit({
        "a.kt": "fun `adds twoThings to fooBar`(): Int {\n  return renew()\n}\n",
        "b.js": "export function $renew$(a) { return a; }\nexport const привет = () => $renew$(1);\n",
        "c.rb": "class Basket\n  def ==(other)\n    renew?\n  end\n  def renew?\n    true\n  end\nend\n",
    })  # fmt: skip
    with ctx.open(repo.path) as index:
        made = index.pack("renew the Basket when it adds twoThings fooBar, see $renew$")
    assert {"a.kt", "b.js", "c.rb"} <= set(paths(made))
