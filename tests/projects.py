"""Projects for tests: made from a number, so that a test needs nothing but git.

A made project looks like code that somebody wrote: several languages, directories of many sizes, words that
come back in many files, comments in more than one script.
"""

from __future__ import annotations

import random

NOUNS = (
    "session token cache socket user invoice colour retry queue worker parser header cookie payment index"
    " tree branch commit vector cluster bucket stream buffer account password mailbox schedule permission"
).split()
VERBS = (
    "open close renew expire fetch store parse render send receive validate encode decode merge split resolve"
    " register notify count sort filter lock release flush drop"
).split()
FOREIGN = (
    "обновляет сессию пользователя",
    "期限切れのセッションを削除する",
    "crée la clé d'accès",
    "löscht alte Einträge",
)

Text = dict[str, str | bytes]


def function(seed: random.Random, language: str) -> str:
    """The source of one function."""
    verb, noun, other = seed.choice(VERBS), seed.choice(NOUNS), seed.choice(NOUNS)
    note = seed.choice(FOREIGN) if seed.random() < 0.15 else f"{verb}s the {noun} of a {other}"
    number, call = seed.randrange(1000), seed.choice(VERBS)
    if language == "py":
        lines = (
            f"    {seed.choice(NOUNS)}_{i} = {other}.{seed.choice(VERBS)}({i})\n"
            for i in range(seed.randrange(1, 9))
        )
        return f'def {verb}_{noun}_{number}({other}):\n    """{note}."""\n{"".join(lines)}    return 0\n\n\n'
    if language == "go":
        name = f"{verb.title()}{noun.title()}{number}"
        return f"// {name} {note}.\nfunc {name}({other} int) int {{\n\treturn {other} + {number}\n}}\n\n"
    if language == "js":
        name = f"{verb}{noun.title()}{number}"
        body = f"  return {other}.{call}({number});\n"
        return f"// {note}\nexport function {name}({other}) {{\n{body}}}\n\n"
    return f"## {verb.title()} the {noun}\n\nThis {note}, {number} times a day.\n\n"


def source(seed: random.Random, language: str, functions: int | None = None) -> str:
    """The source of one file."""
    head = {"go": "package made\n\n"}.get(language, "")
    many = functions if functions is not None else seed.randrange(1, 7)
    return head + "".join(function(seed, language) for _ in range(many))


def project(number: int, files: int) -> Text:
    """The files of a made project, always the same for the same number."""
    seed = random.Random(number)
    folders = "./ src/ src/core/ src/core/net/ lib/ docs/ tests/ tools/a/b/ tools/a/c/ wide/".split()
    weights = [1, 3, 3, 2, 2, 1, 2, 1, 1, 5]
    made: Text = {}
    while len(made) < files:
        folder = seed.choices(folders, weights)[0]
        language = seed.choice(["py", "py", "go", "js", "md"])
        name = f"{seed.choice(NOUNS)}_{seed.choice(NOUNS)}{seed.randrange(100)}.{language}"
        made[folder.removeprefix("./") + name] = source(seed, language)
    return made


QUERIES = (
    "renew the session of a user",
    "expire",
    "parse_header",
    "RenewSession",
    "how are cookies validated before the payment is sent",
    "обновляет сессию",
    "セッションを削除",
    "clé",
)
"""Questions in words, as names, in several scripts."""

FILTERS: tuple[tuple[str, ...], ...] = ((), ("src",), ("*.py",), (":!tests", ":!docs"))
