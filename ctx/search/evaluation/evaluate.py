"""`git ctx evaluate`: search quality measured on the commits of the repository."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ctx.errors import UsageError
from ctx.git.resolution import Resolution
from ctx.search.evaluation.grades import Difference, Grade, difference, grade, groups
from ctx.search.evaluation.replay import Graded, Replay
from ctx.search.evaluation.settings import DEFAULT, Setting, parse
from ctx.search.session import SearchSession

MOST = 200


class Evaluation(NamedTuple):
    """The whole report. `settings` are their names.

    `grades` of all commits, empty without any, and `groups` of them by category and name have one grade for
    each setting. `differences` compare each setting after the first with the first. `interrupted` is True if
    the user stopped the evaluation.
    """

    resolution: Resolution
    commits: int
    examined: int
    left_out: dict[str, int]
    settings: list[str]
    grades: list[Grade]
    groups: dict[str, dict[str, list[Grade]]]
    differences: list[Difference]
    interrupted: bool


def evaluate(
    session: SearchSession,
    revision: str | None = None,
    *,
    most: int = MOST,
    compare: Sequence[str] = (),
    progress: Callable[[int], None] = lambda _: None,
) -> Evaluation:
    """Replay the commits reachable from a revision and grade the searches.

    `progress` is called with the number of commits replayed so far. A keyboard interrupt ends the evaluation
    early with the grades so far. Raises UsageError.
    """
    resolution = session.resolve(revision)
    if resolution.commit is None:
        raise UsageError(f"'{resolution.revision}' is a tree and has no history: name a commit or a branch")
    settings = [Setting(DEFAULT), *map(parse, compare)]
    replay = Replay(session, resolution.commit, most, settings, progress)
    graded: list[Graded] = []
    interrupted = False
    try:
        for one in replay.run():
            graded.append(one)
    except KeyboardInterrupt:
        interrupted = True
    numbers = range(len(settings))
    return Evaluation(
        resolution,
        len(graded),
        replay.examined,
        dict(replay.left_out.most_common()),
        [setting.name for setting in settings],
        [grade(graded, number) for number in numbers] if graded else [],
        {
            category: {name: [grade(own, number) for number in numbers] for name, own in parts.items()}
            for category, parts in groups(graded).items()
        },
        [difference(graded, 0, number) for number in numbers[1:]] if graded else [],
        interrupted,
    )
