"""Tests of neighbours of selected code, which follow edges rather than equal names."""

from __future__ import annotations

from functools import partial

import ctx
from ctx.pack.making import rank
from ctx.pack.neighbours import CALLER_OF, TEST_OF, Links, definitions_used, is_user, users
from ctx.pack.task import read_task
from ctx.pack.types import PackOptions
from ctx.search.dependencies.edges import Dependencies
from ctx.search.hits import corpus_of
from ctx.search.opening import open_tree

TASK = "refund_payment returns the total although the order is void"
FILLER = "\n".join(f"def step_{n}(ledger):\n    return ledger.entry({n})\n\n" for n in range(40))
CHOSEN = """from shop.rounding import round_amount


def refund_payment(order):
    \"\"\"Refund the payment of an order that is void.\"\"\"
    return round_amount(order.total)
"""
FILES = {
    "shop/payments.py": CHOSEN,
    "shop/rounding.py": f"{FILLER}\ndef round_amount(amount):\n    return round(amount, 2)\n",
    "games/rounding.py": f"{FILLER}\ndef round_amount(points):\n    return int(points)\n",
    "games/other.py": f"{FILLER}\ndef round_amount(other):\n    return other\n",
    "shop/checkout.py": f"{FILLER}\nfrom shop.payments import refund_payment\n\n\ndef undo_checkout(order):\n"
    "    return refund_payment(order)\n",
    "games/words.py": f"{FILLER}\nNAMES = ['refund_payment']\n",
    "games/console.rb": "def undo(order)\n  refund_payment(order)\nend\n",
    "tests/test_payments.py": "from shop.payments import refund_payment\n\n\ndef test_refund():\n"
    "    assert refund_payment(None) is None\n",
    "tests/test_words.py": "def test_names():\n    assert 'refund_payment' in NAMES\n",
}


def test_edges_decide_if_they_are_known(make_repo):
    repo = make_repo("shop")
    repo.commit(FILES)
    with ctx.open(repo.path) as index:
        opened = open_tree(index.session, None, None, None)
        ranking = rank(index.session, opened, {}, TASK, PackOptions(), tuple(read_task(TASK)))
        chosen = [one for one in ranking.found if one.path == "shop/payments.py"][:1]
        links = Links(ranking.dependencies())
        proposed = users(ranking.records, ranking.query, chosen, 100)
        paths = {one: opened.view.path(one.file).decode() for one in proposed}
        kept = {(one.relation, path) for one, path in paths.items() if is_user(ranking.records, links, one)}
        # In a language without edges an equal name is enough.
        callers = {(CALLER_OF, "shop/checkout.py"), (CALLER_OF, "games/console.rb")}
        assert kept == {*callers, (TEST_OF, "tests/test_payments.py")}
        assert set(paths.values()) - {path for _, path in kept} == {"games/words.py", "tests/test_words.py"}
        texts = {one.row: CHOSEN for one in chosen}
        used = definitions_used(ranking.records, links, chosen, texts, 60)
        assert [(one.symbol, opened.view.path(one.file)) for one in used] == [
            ("round_amount", b"shop/rounding.py")
        ]
        # Without edges a name with three definitions is ignored.
        blind = Links(ranking.dependencies(), most=0)
        assert definitions_used(ranking.records, blind, chosen, texts, 60) == []


def unreadable(oid):
    raise AssertionError(f"{oid.hex()} was read")


def test_reading_stops_at_the_limit(make_repo):
    repo = make_repo("shop")
    repo.commit(FILES)
    with ctx.open(repo.path) as index:
        opened = open_tree(index.session, None, None, None)
        corpus = corpus_of(opened.view)
        dependencies = Dependencies(
            corpus, index.session.reader.read_blob, partial(index.session.record, opened.view)
        )
        links = Links(dependencies, most=len(CHOSEN))
        assert links.targets(b"shop/payments.py", ["round_amount"]) == {"round_amount": b"shop/rounding.py"}
        assert links.edges(b"shop/checkout.py", ["refund_payment"]) is None
        assert links.known(b"shop/checkout.py")
        assert not links.known(b"games/console.rb")
        assert not links.leads(b"shop/checkout.py", b"shop/payments.py", "refund_payment")
        fresh = Dependencies(corpus, unreadable, partial(index.session.record, opened.view))
        assert Links(fresh).known(b"shop/checkout.py"), "the language is known without reading"
        links = Links(dependencies)
        assert links.leads(b"shop/checkout.py", b"shop/payments.py", "refund_payment")
        assert not links.leads(b"games/words.py", b"shop/payments.py", "refund_payment")
