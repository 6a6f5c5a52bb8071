"""Related code: copies are flagged, similar code is found, and the rest is left out."""

from __future__ import annotations

from pathlib import Path

import pytest
from repositories import Repo

import ctx
from ctx.errors import CtxError, UnknownRevision, UsageError
from ctx.types import IDENTICAL, NEAR_DUPLICATE, STAGED, Answer

PARSE = '''def parse_duration(text):
    """Seconds of a duration such as `3m20s`."""
    total = 0
    for number, unit in DURATION.findall(text):
        if unit not in SECONDS_OF_UNIT:
            raise ValueError(f"unknown unit {unit}")
        total += int(number) * SECONDS_OF_UNIT[unit]
    return total
'''
INDENTED = "class Times:\n" + "".join(f"    {line}\n" for line in PARSE.splitlines())
EDITED = PARSE.replace("raise ValueError", "raise TimeFormatError").replace("parse_duration", "read_duration")
MAIL = '''def send_invoice(customer, invoice):
    """Mail an invoice to the address of a customer."""
    message = EmailMessage()
    message["To"] = customer.address
    message["Subject"] = f"Invoice {invoice.number}"
    message.attach(invoice.render_as_pdf())
    with smtp_connection() as connection:
        connection.send_message(message)
'''
GRAPH = """fn shortest_path(graph: &Graph, source: Node) -> HashMap<Node, u64> {
    let mut distances = HashMap::new();
    let mut frontier = BinaryHeap::from([(Reverse(0), source)]);
    while let Some((Reverse(distance), node)) = frontier.pop() {
        if distances.contains_key(&node) { continue; }
        distances.insert(node, distance);
        for edge in graph.edges(node) { frontier.push((Reverse(distance + edge.weight), edge.target)); }
    }
    distances
}
"""


@pytest.fixture
def project(repo: Repo) -> Repo:
    filler = {
        f"shop/part{number}.py": MAIL.replace("invoice", f"thing{number}").replace(
            "customer", f"party{number}"
        )
        for number in range(12)
    }
    repo.commit(
        {
            "time/parse.py": PARSE,
            "time/again.py": EDITED,
            "mail.py": MAIL,
            "time/method.py": INDENTED,
            **filler,
        }
    )
    return repo


def ask(repo: Repo, place: str | None, text: str | None = None, **options: object) -> Answer:
    with ctx.open(repo.path) as index:
        return index.related(place, text, **options)  # type: ignore[arg-type]


def kinds(answer: Answer) -> dict[str, str | None]:
    return {hit.path: hit.duplicate for hit in answer.hits}


def test_copies_are_flagged_and_the_code_itself_is_left_out(project: Repo) -> None:
    answer = ask(project, "time/parse.py:4")
    assert kinds(answer) == {"time/again.py": NEAR_DUPLICATE, "time/method.py": NEAR_DUPLICATE}
    assert answer.message is None
    scores = [hit.score for hit in answer.hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0.3 <= score <= 1 for score in scores)


def test_a_citation_lines_and_text_are_equivalent(project: Repo) -> None:
    blob = project.id("HEAD:time/parse.py").hex()
    expected = kinds(ask(project, "time/parse.py:1-8"))
    assert kinds(ask(project, f"{blob[:12]}:1-8"))["time/again.py"] == NEAR_DUPLICATE
    assert expected["time/again.py"] == NEAR_DUPLICATE
    text = kinds(ask(project, None, PARSE))
    assert text["time/parse.py"] == IDENTICAL
    # Indentation and blank lines are ignored.
    assert kinds(ask(project, None, "\n\n" + PARSE.replace("\n", "\n\n")))["time/parse.py"] == IDENTICAL


def test_citations_of_uncommitted_and_of_missing_code(project: Repo) -> None:
    """Citations as a search prints them, also for the work tree; a file may have a name like an id."""
    project.write({"draft.py": PARSE.replace("return", "return not")})
    blob = project.git("hash-object", "draft.py").decode()
    assert "time/parse.py" in kinds(ask(project, f"{blob[:12]}:1-8"))
    with pytest.raises(UnknownRevision, match=r"no blob deadbeefdead in .*git collected it"):
        ask(project, "deadbeefdead:1-8")
    project.commit({"deadbeefdead": PARSE})
    assert kinds(ask(project, "deadbeefdead:1"))["time/parse.py"] == IDENTICAL


def test_a_copy_of_a_whole_file_has_its_path(project: Repo) -> None:
    project.commit({"copied/parse.py": PARSE})
    (first, *_) = ask(project, "time/parse.py:2").hits
    assert (first.path, first.duplicate) == ("copied/parse.py", IDENTICAL)
    (first, *_) = ask(project, "copied/parse.py:2").hits
    assert (first.path, first.duplicate) == ("time/parse.py", IDENTICAL)


def test_code_without_similar_code(project: Repo) -> None:
    answer = ask(project, None, GRAPH)
    assert answer.hits == []
    assert answer.message == "nothing in this tree is like it"


def test_in_another_revision(project: Repo) -> None:
    project.commit({"time/again.py": None, "time/method.py": None})
    assert kinds(ask(project, "time/parse.py:4")) == {}
    assert "time/again.py" in kinds(ask(project, "time/parse.py:4", revision="HEAD~1"))
    # A path that only the revision has.
    assert kinds(ask(project, "time/again.py:4", revision="HEAD~1"))["time/parse.py"] == NEAR_DUPLICATE


def test_filters(project: Repo) -> None:
    assert kinds(ask(project, "time/parse.py:4", paths=["time/again.py"])) == {
        "time/again.py": NEAR_DUPLICATE
    }
    assert ask(project, "time/parse.py:4", languages=["rust"]).hits == []
    assert len(ask(project, "time/parse.py:4", limit=1).hits) == 1


def test_staged_code_that_exists_already(project: Repo, tmp_path: Path) -> None:
    project.write({"new.py": EDITED + "\n\n" + "X = 1\n", "graph.rs": GRAPH, "mail.py": MAIL + "\n"})
    with ctx.open(project.path) as index:
        assert index.related_changes("HEAD", staged=True)[1] == []
        project.git("add", "new.py", "graph.rs")
        _, found = index.related_changes("HEAD", staged=True)
        ((changed, hits),) = found
        assert changed.path == "new.py"
        assert "time/again.py" in {hit.path for hit in hits}
        assert hits[0].duplicate == NEAR_DUPLICATE
    # Moved code exists nowhere else.
    project.git("reset", "-q", "--hard")
    project.git("mv", "mail.py", "post.py")
    with ctx.open(project.path) as index:
        assert index.related_changes("HEAD", staged=True)[1] == []


@pytest.mark.parametrize(
    ("place", "error", "words"),
    [
        ("absent.py:3", CtxError, "there is no indexed file 'absent.py'"),
        ("time:3", CtxError, "there is no indexed file 'time'"),
        ("time/parse.py", UsageError, "is not a place"),
        ("time/parse.py:900", CtxError, "has 8 lines, so there is no line 900"),
        ("time/parse.py:3-900", CtxError, "there is no line 900"),
        ("time/parse.py:0", UsageError, "lines count from 1"),
        ("time/parse.py:5-2", UsageError, "lines 5 to 2"),
        ("abcdefabcdef", UnknownRevision, "there is no blob"),
    ],
)
def test_invalid_places(project: Repo, place: str, error: type[CtxError], words: str) -> None:
    with pytest.raises(error) as raised:
        ask(project, place)
    assert words in str(raised.value)


def test_text_without_code(project: Repo) -> None:
    with pytest.raises(UsageError, match="there is no code"):
        ask(project, None, " \n")
    assert ask(project, None, "(){};").hits == []
    assert ask(project, "time/parse.py:4", overlay=STAGED).hits
