"""Tests of reports: prose and code of a task."""

from __future__ import annotations

from ctx.pack.making import query_of_task
from ctx.pack.task import read_report, read_task
from ctx.pack.types import EXAMPLE, TASK
from ctx.storage.views import paths

REPORT = """\
Renewing a session twice ends it

### Prerequisites

- [x] I have searched the existing issues

<!-- thank you for
your report -->

**Version**: 2.4.1
- OS: Ubuntu 22.04

### What happened?

The second call of `SessionStore.renew` drops the token. max_age: 5 is set.

```python
from shop import Basket
basket = Basket(open_session())
```

Indented code:

    checkout(basket)

### Renewal in the cache

See also CacheEntry.
"""


def test_report_is_split_into_title_prose_and_code():
    found = read_report(REPORT)
    assert found.title == "Renewing a session twice ends it"
    assert [line for line in found.prose.split("\n") if line] == [
        "The second call of `SessionStore.renew` drops the token. max_age: 5 is set.",
        "Indented code:",
        "### Renewal in the cache",
        "See also CacheEntry.",
    ]
    assert found.code.split("\n") == [
        "from shop import Basket",
        "basket = Basket(open_session())",
        "    checkout(basket)",
    ]


def test_names_in_prose_and_in_code_have_different_origins():
    origins = {hint.symbol: hint.origin for hint in read_task(REPORT) if hint.symbol}
    assert {name for name, origin in origins.items() if origin == TASK} == {
        "SessionStore",
        "renew",
        "max_age",
        "CacheEntry",
    }
    assert {name for name, origin in origins.items() if origin == EXAMPLE} == {"open_session"}
    terms = {term.word for term in query_of_task(REPORT).terms}
    assert {"token", "cache"} <= terms
    assert not {"basket", "prerequisites", "ubuntu", "searched"} & terms


def test_a_trace_in_a_report_is_a_trace():
    trace = '  File "shop/session.py", line 17, in renew_session\n    basket.lookUp()\n'
    hints = read_task(f"It crashes\n\n```\n{trace}```\n")
    assert ("shop/session.py", 17, TASK) in {(hint.path, hint.line, hint.origin) for hint in hints}
    assert ("renew_session", TASK) in {(hint.symbol, hint.origin) for hint in hints}
    assert ("lookUp", EXAMPLE) in {(hint.symbol, hint.origin) for hint in hints}


def test_code_is_searched_if_there_is_no_prose():
    shown = "```\nbasket.empty()\n```"
    assert "basket" in {term.word for term in query_of_task(f"Bug\n\n{shown}").terms}
    assert "basket" in {term.word for term in query_of_task(shown).terms}
    assert read_report("").question.strip() == ""


def test_headings_in_other_languages_are_prose():
    assert "Корзина" in read_report("Ошибка\n\n## Корзина пуста\n").prose


def test_only_the_title_of_a_report_asks_for_tests():
    assert not query_of_task("A session ends\n\nSteps to test: run the tests.").requested & paths.TEST
    assert query_of_task("Tests of the session\n\nThey fail.").requested & paths.TEST


def test_links_to_lines_and_quoted_paths_are_hints():
    link = "https://example.org/shop/blob/v1.0/shop/session.py#L17-L20"
    assert (f"{link.partition('#')[0].partition(':')[2]}", 17) in {
        (hint.path, hint.line) for hint in read_task(f"It fails, see {link}")
    }
    assert "new\nline.py" in {hint.path for hint in read_task('fix "new\\nline.py" please')}


def test_hostile_report_is_read_in_linear_time():
    for text in ("# " + " " * 50_000 + "x", "**a" * 30_000, "```\n" * 20_000, '"\\' * 40_000, "a:" * 40_000):
        read_task(f"{text}\n{text}\n\n    {text}")
