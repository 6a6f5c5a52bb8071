"""The first place: code before catalogues and prototypes, the file that has the name of a type."""

from __future__ import annotations

import json
from collections.abc import Callable

from repositories import Repo

import ctx

OTHER = "def part_{0}(value):\n    total = value * {0}\n    return total + {0}\n"
FILES = {f"part{number}.py": OTHER.format(number) for number in range(20)}


def paths(repo: Repo, query: str) -> list[str]:
    with ctx.open(repo.path) as index:
        return [hit.path for hit in index.search(query).hits]


def test_catalogues_stand_behind_code(repo: Repo) -> None:
    texts = {
        "session": {"expired": "Your session has expired, please log in again", "renew": "Renew the session"},
        "login": {"failed": "The login failed because the password is wrong", "title": "Log in"},
    }
    code = (
        "def refuse_expired(session, now):\n"
        '    """Refuse a session that has expired, and ask to log in again."""\n'
        "    if session.expires < now:\n"
        '        raise Refused(translate("session.expired"))\n'
        "    return session\n"
    )
    text = json.dumps(texts, indent=2)
    catalogues = {f"locales/{name}/translation.json": text for name in ("en", "de", "fr")}
    repo.commit({**FILES, **catalogues, "web/guard.py": code})
    for query in (
        "where is an expired session refused so that one must log in again",
        "session expired please log in",
    ):
        assert paths(repo, query)[0] == "web/guard.py", query


def test_a_definition_in_c_comes_before_its_prototype(repo: Repo) -> None:
    comment = "/* Retry a request on a new connection. */\n"
    prototype = f"{comment}int retry_request(struct request *request, int times);\n"
    body = (
        f'#include "transfer.h"\n\n{comment}'
        "int retry_request(struct request *request, int times)\n{\n"
        "    while (times-- > 0) {\n        if (send_request(request) == 0)\n            return 0;\n"
        "        reconnect(request);\n    }\n    return -1;\n}\n"
    )
    repo.commit({**FILES, "lib/transfer.h": prototype, "lib/transfer.c": body})
    assert paths(repo, "retry_request")[:2] == ["lib/transfer.c", "lib/transfer.h"]


def test_a_type_comes_from_the_file_of_its_name(repo: Repo) -> None:
    part = (
        "namespace Db\n{{\n    public static partial class SqlMapper\n    {{\n"
        "        public static int Read{0}(int row)\n        {{\n            return row + {0};\n"
        "        }}\n    }}\n}}\n"
    )
    names = ("Async", "Grid", "Identity", "Link")
    parts = {f"Db/SqlMapper.{name}.cs": part.format(number) for number, name in enumerate(names)}
    repo.commit({**parts, "Db/SqlMapper.cs": part.format(9)})
    assert paths(repo, "SqlMapper")[0] == "Db/SqlMapper.cs"


def test_the_name_of_the_project_costs_no_places(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo("lantern")
    readme = "# Lantern\n\nLantern is a library. Lantern has tokens, and lantern renews them.\n"
    code = "def renew_token(token, seconds):\n    token.expires += seconds\n    return token\n"
    init = '"""Lantern: the lantern package of lantern."""\nfrom lantern.token import renew_token\n'
    repo.commit({**FILES, "README.md": readme, "lantern/__init__.py": init, "lantern/token.py": code})
    for query in ("renew a token", "how does lantern renew a token"):
        assert paths(repo, query)[0] == "lantern/token.py", query
