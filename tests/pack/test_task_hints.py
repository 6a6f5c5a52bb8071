"""Tests of hints: stack traces of common languages, and names in a task."""

from __future__ import annotations

import pytest

from ctx.pack.task import find_paths, read_log, read_task

TRACES = {
    "python": (
        '  File "/srv/app/shop/session.py", line 17, in renew_session\n',
        ("/srv/app/shop/session.py", 17),
        "renew_session",
    ),
    "javascript": ("    at Basket.add (/app/src/basket.js:12:34)\n", ("/app/src/basket.js", 12), "add"),
    "bare": ("    at /app/src/basket.js:12:34\n", ("/app/src/basket.js", 12), None),
    "java": ("\tat com.shop.Sessions.renew(Sessions.java:123)\n", ("Sessions.java", 123), "renew"),
    "go": (
        "shop.(*Store).Renew(0xc0001)\n\t/src/shop/store.go:42 +0x1d\n",
        ("/src/shop/store.go", 42),
        "Renew",
    ),
    "rust": (
        "   3: shop::session::renew\n             at ./src/session.rs:10:5\n",
        ("./src/session.rs", 10),
        "renew",
    ),
    "php": (
        "#0 /var/www/src/Session.php(88): Shop\\Session->renew()\n",
        ("/var/www/src/Session.php", 88),
        None,
    ),
    "csharp": (
        "   at Shop.Session.Renew(String token) in C:\\src\\Session.cs:line 31\n",
        ("C:/src/Session.cs", 31),
        "Renew",
    ),
}


@pytest.mark.parametrize("language", TRACES)
def test_traces(language):
    text, place, symbol = TRACES[language]
    found = read_log(text)
    assert place in {(hint.path, hint.line) for hint in found}
    assert symbol is None or symbol in {hint.symbol for hint in found}


def test_a_task_names_files_and_symbols():
    found = read_task(
        "fix `renew` in src/shop.py:3: SessionStore.renew_session() ignores max_age, see Foo::bar"
    )
    assert ("src/shop.py", 3) in {(hint.path, hint.line) for hint in found}
    assert {"renew", "SessionStore", "renew_session", "max_age", "bar"} <= {hint.symbol for hint in found}
    assert not [hint for hint in read_task("make the page load faster when many people wait") if hint.symbol]


def test_longest_common_suffix_of_a_path_wins():
    paths = [b"a/x/util.py", b"b/x/util.py", b"util.py", b"x/other.py"]
    found = find_paths(read_log('File "/home/me/b/x/util.py", line 2, in f\n'), paths)
    assert list(found) == [1]
    assert list(find_paths(read_log("util.py:3\n"), paths)) == [0, 1, 2]


def test_hostile_log_is_read_in_linear_time():
    for text in ("a" * 100_000, "/" * 50_000, "." * 50_000, "at (" * 20_000, "x.y:" * 20_000, "A_" * 30_000):
        read_log(text)
        read_task(text)
