"""A query that is one identifier: its definitions, then the nearest uses, and nothing without it."""

from __future__ import annotations

import pytest
from repositories import Repo

import ctx
from ctx.errors import UsageError
from ctx.search.identifiers import Identifier, read_identifier
from ctx.types import Answer, ModelOptions

STORE = '''class SessionStore:
    """All sessions of one process, by their token."""

    def refresh_token(self, session, seconds):
        """Give a session another token, and remember the old one for some seconds."""
        self.tokens[session.token] = session
        self.expires[session.token] = seconds
        return session

    def drop_session(self, session):
        """Forget a session with all of its tokens."""
        for token in self.tokens_of(session):
            self.refresh_token(session, 0)
            del self.tokens[token]

    def tokens_of(self, session):
        """Return the tokens of a session that have not expired yet, the newest one first, in a list."""
        known = [token for token, owner in self.tokens.items() if owner is session]
        return sorted(known, key=self.expires.__getitem__, reverse=True)


class LegacyStore:
    """Sessions of version one, which had no tokens and were kept by user."""

    def refresh_token(self, session, seconds):
        """Do nothing: sessions of version one have no tokens to refresh at all."""
        raise NotImplementedError("sessions of version one have no token")
'''
HANDLER = '''from web.store import SessionStore


def handle_login(request, store):
    """Log a user in with the password of a request, and renew the token of the session."""
    session = request.session
    store.refresh_token(session, 60)
    return session
'''
TEST = '''def test_refresh_token_twice(store):
    """The token of a session can be refreshed again at once."""
    store.refresh_token(store.refresh_token(store.first(), 10), 10)
    assert store.first().token
'''
NEAR = '''def refresh_tokens(store, sessions):
    """Refresh token after token of all sessions of a store, one refresh each."""
    token = [store.touch(session) for session in sessions]
    return token


def refreshToken(store):
    """Refresh the token in another spelling, which is another name."""
    return store.touch(None)
'''


@pytest.fixture
def project(repo: Repo) -> Repo:
    repo.commit(
        {
            "web/store.py": STORE,
            "web/login.py": HANDLER,
            "jobs/nightly.py": HANDLER.replace("handle_login", "renew_all"),
            "jobs/tokens.py": NEAR,
            "tests/test_store.py": TEST,
            "README.md": "# Sessions\n\nCall `refresh_token` before the token of a session expires.\n",
        }
    )
    return repo


def places(answer: Answer) -> list[tuple[str, str]]:
    return [(hit.path, hit.symbol) for hit in answer.hits]


def search(repo: Repo, text: str, **options: object) -> Answer:
    with ctx.open(repo.path) as index:
        return index.search(text, **options)


def test_definitions_come_first_then_uses_by_distance(project):
    found = places(search(project, "refresh_token"))
    assert set(found[:2]) == {
        ("web/store.py", "SessionStore.refresh_token"),
        ("web/store.py", "LegacyStore.refresh_token"),
    }
    assert found[2:5] == [
        ("web/store.py", "SessionStore.drop_session"),
        ("web/login.py", "handle_login"),
        ("jobs/nightly.py", "renew_all"),
    ]
    assert {path for path, _ in found[5:]} == {"tests/test_store.py", "README.md"}


def test_scores_descend(project):
    scores = [hit.score for hit in search(project, "refresh_token").hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_a_qualified_name_has_one_definition(project):
    for text in ("SessionStore.refresh_token", "SessionStore::refresh_token()", "SessionStore#refresh_token"):
        found = places(search(project, text))
        assert found[0] == ("web/store.py", "SessionStore.refresh_token"), text
        assert ("jobs/tokens.py", "refreshToken") not in found


def test_all_hits_contain_the_name(project):
    for text in ("refresh_token", "refreshToken", "SessionStore"):
        hits = search(project, text, limit=50).hits
        assert hits
        assert all(Identifier((text,)).is_in(hit.text or "") for hit in hits), text


def test_a_member_of_a_small_type_is_named(repo):
    text = "struct Pair { a: u8 }\nimpl Pair {\n    fn swap_ends(&self) -> Pair { Pair { a: !self.a } }\n}\n"
    repo.commit({"pair.rs": text})
    (hit,) = search(repo, "Pair::swap_ends").hits
    assert (hit.symbol, hit.kind) == ("Pair::swap_ends", "method")
    assert hit.signature is not None
    assert "fn swap_ends" in hit.signature[1]


def test_a_limit_and_a_path_restrict_the_uses(project):
    assert len(search(project, "refresh_token", limit=3).hits) == 3
    found = places(search(project, "refresh_token", paths=["jobs"]))
    assert found == [("jobs/nightly.py", "renew_all")]


def test_a_word_of_prose_is_a_name_on_request(project):
    plain = places(search(project, "session", limit=50))
    asked = search(project, "session", limit=50, word=True)
    assert ("jobs/tokens.py", "refresh_tokens") in plain or len(plain) > len(asked.hits)
    assert asked.hits
    assert all(Identifier(("session",)).is_in(hit.text or "") for hit in asked.hits)


def test_a_name_that_nothing_defines_is_searched_for_in_words(project):
    assert search(project, "session_refreshing").hits
    assert not search(project, "session_refreshing", word=True).hits


def test_changes_are_searched_too(project):
    project.write({"web/login.py": HANDLER.replace("60", "90"), "jobs/tokens.py": NEAR.replace("None", "0")})
    found = places(search(project, "refresh_token", within="HEAD"))
    assert found
    assert {path for path, _ in found} == {"web/login.py"}


def test_a_word_is_one_identifier(project):
    with pytest.raises(UsageError, match="no identifier"):
        search(project, "refresh token", word=True)
    with pytest.raises(UsageError, match="models"):
        search(project, "session", word=True, models=ModelOptions(rerank=False))


@pytest.mark.parametrize("text", ["session", "größe", "where is it", "a-b", "1.2", "", "f(x)"])
def test_prose_is_no_identifier(text):
    assert read_identifier(text) is None


@pytest.mark.parametrize(
    "text", ["a_b", "aB", "HTTPServer", "Session", "HTTP", "a.b", "A::b", "utf8", "Größe_b", "a_b()"]
)
def test_code_is(text):
    assert read_identifier(text) is not None
