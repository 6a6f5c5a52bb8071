"""Questions in other languages find English identifiers, and English ones are not translated."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from repositories import Repo

import ctx
from ctx.models.static_embedding import static_embedding
from ctx.ranking.query import prepare
from ctx.ranking.translated import Alternatives, weights_in_tree
from ctx.text import translation
from ctx.text.query import TRANSLATION, read_query
from ctx.text.translation import LANGUAGES, translate

ROOT = Path(__file__).resolve().parents[2]
LEXICON = [
    line.rstrip("\n").split(" | ")
    for line in (ROOT / "ctx/text/lexicon.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]

SAID = [
    ("¿dónde se renueva la sesión de un usuario?", "es", "where refresh session user"),
    ("validar token", "es", "validate token"),
    ("onde as sessões são renovadas", "pt", "where session refresh"),
    ("l'utilisateur peut-il réinitialiser son mot de passe", "fr", "user reset password"),
    ("file d'attente des messages", "fr", "queue messages"),
    ("wo wird die Sitzung erneuert", "de", "where session refresh"),
    ("Sitzungsverwaltung und Datenbankverbindung", "de", "session manager database connection"),
    ("где обновляется сессия пользователя", "ru", "where refresh session user"),
    ("会话在哪里刷新", "zh", "session refresh"),
    ("修复SessionStore超时", "zh", "fix SessionStore timeout"),
    ("从本地文件缓存中读取image", "zh", "local file cache read image"),
    ("セッションはどこで更新されますか", "ja", "session update"),
    ("認証 失敗", "ja", "authentication error"),
    ("세션은 어디에서 갱신되나요", "ko", "session refresh"),
    ("비밀번호를 검증하는 코드", "ko", "password validate"),
]


@pytest.mark.parametrize(("text", "language", "english"), SAID)
def test_a_question_is_translated_to_english(text: str, language: str, english: str) -> None:
    rendering = translate(text)
    assert rendering is not None
    assert (rendering.language, rendering.text) == (language, english)


def english_texts() -> list[str]:
    """Sentences in English and names in code: the lines of the documents and sources of this project."""
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")]
    lines = [
        line
        for page in [*pages, *(ROOT / "ctx").rglob("*.py")]
        for line in page.read_text(encoding="utf-8").splitlines()
        if line.isascii() and page.name != "translation.py"
    ]
    queries = (ROOT / "tests/ranking/golden_queries.txt").read_text(encoding="utf-8").splitlines()
    names = {name for line in lines for name in re.findall(r"[A-Za-z_]{2,}", line)}
    return [*lines, *(line.split("\t")[0] for line in queries if line.isascii()), *sorted(names)]


def test_english_is_not_translated() -> None:
    texts = english_texts()
    assert len(texts) > 15_000
    assert [text for text in texts if translate(text) is not None] == []


@pytest.mark.parametrize(
    "text", ["where is the session renewed?", "SessionStore", "red black tree", "el parser"]
)
def test_an_english_query_is_the_same_without_the_lexicon(text: str) -> None:
    query = prepare(text)
    assert query.terms == read_query(text)
    assert query.alternatives == []
    assert np.array_equal(query.vector, static_embedding().embed_query(text))


@pytest.mark.parametrize(
    "text", ["", " ", "?!", "_", "é", "的", "が", "가", "\ud800", "ß" * 5000, "x" * 9, "۱۲۳", "😀"]
)
def test_unusual_texts_are_read(text: str) -> None:
    translate(text)
    prepare(text)


def test_the_lexicon_is_well_formed() -> None:
    entries = [cells for cells in LEXICON if cells[0] not in ("-",) and not cells[0].startswith("?")]
    assert len(entries) > 400
    assert all(len(cells) <= 1 + len(LANGUAGES) for cells in LEXICON)
    for column, language in enumerate(LANGUAGES, 1):
        forms = [
            form.rstrip("~")
            for cells in LEXICON
            for form in (cells[column].split(",") if len(cells) > column else [])
            if form.strip()
        ]
        assert len(forms) > 600, language
        assert [
            form for form in forms if translation._fold(form) != form.strip() or form != form.strip()
        ] == []


def test_no_language_translates_plain_english_words() -> None:
    for language in LANGUAGES:
        lexicon = translation._lexicon(language)
        assert not translation._PLAIN_ENGLISH & (lexicon.functions | lexicon.questions.keys()), language


def test_terms_name_their_source_word() -> None:
    query = prepare("где обновляется SessionStore пользователя")
    found = {term.word: term.source for term in query.terms if term.origin == TRANSLATION}
    assert found["user"] == "пользователя"
    assert found["refresh"] == "обновляется"
    assert "session" not in found


def test_meanings_missing_from_a_tree_get_no_weight() -> None:
    weights = np.array([1.0, 0.5, 1.0])
    one = [Alternatives([[0], [1]], [2])]

    def settled(*occurs: bool) -> list[float]:
        return weights_in_tree(weights, one, np.array(occurs)).tolist()

    assert settled(True, False, False) == [1.0, 0.0, 0.0]
    assert settled(True, True, False) == [1.0, 0.5, 0.0]
    assert settled(False, True, False) == [0.0, 1.0, 0.0]
    assert settled(False, False, True) == [0.0, 0.0, 1.0]
    assert settled(True, False, True) == [1.0, 0.0, 1.0]
    assert settled(False, False, False) == [1.0, 0.0, 0.0]


SHOP = {
    "server/sessions.py": "class SessionStore:\n    def renew(self, session):\n        session.end += 60\n",
    "server/payments.py": "def refund_payment(order):\n    return order.total\n",
    "server/mail.py": "def send_message(user, text):\n    pass\n",
    "server/words.py": "def load_words(path):\n    # 分词词典\n    return open(path)\n",
}


@pytest.mark.parametrize(
    "question",
    [
        "¿dónde se renueva la sesión?",
        "onde a sessão é renovada",
        "où le renouvellement des séances est-il fait",
        "wo wird die Sitzung erneuert",
        "где обновляется сессия",
        "会话在哪里更新",
        "セッションを延長する",
        "세션을 갱신하는 곳",
    ],
)
def test_other_languages_find_the_file(repo: Repo, question: str) -> None:
    repo.commit(SHOP)
    with ctx.open(repo.path) as index:
        assert index.search(question).hits[0].path == "server/sessions.py"


def test_untranslated_words_in_comments_count(repo: Repo) -> None:
    repo.commit({**SHOP, "server/dictionary.py": "def dictionary(words):\n    return set(words)\n"})
    with ctx.open(repo.path) as index:
        assert index.search("分词词典").hits[0].path == "server/words.py"
