"""`git ctx evaluate`: search quality measured on the commits of the repository."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ctx.errors import CtxError, GitFailed, UsageError
from ctx.git.resolution import Resolution
from ctx.ranking.correction import fit_path, why_unread
from ctx.ranking.file_history import FEATURES, CommitHistory
from ctx.ranking.tuning import PLAIN
from ctx.search.evaluation import fit
from ctx.search.evaluation.grades import Difference, Grade, difference, grade, groups
from ctx.search.evaluation.replay import Graded, Replay
from ctx.search.evaluation.settings import DEFAULT, Setting, parse
from ctx.search.session import SearchSession

MOST = 200

Step = Callable[[str, int, int], None]
"""Progress callback: what is being done, how much is done, and the maximum."""


class Fitted(NamedTuple):
    """Result of fitting: the numbers of commits for learning and testing, and the grades of the test."""

    learned: int
    tried: int
    before: Grade
    after: Grade
    difference: Difference
    weights: dict[str, float]
    stored: bool


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
    fitted: Fitted | None
    interrupted: bool


def evaluate(
    session: SearchSession,
    revision: str | None = None,
    *,
    most: int = MOST,
    compare: Sequence[str] = (),
    fitting: bool = False,
    step: Step = lambda *_: None,
) -> Evaluation:
    """Replay the commits reachable from a revision and grade the searches.

    With `fitting`, learn a correction and store it if the whole interval of the gain lies above 0. A keyboard
    interrupt ends the evaluation early with the grades so far. Raises UsageError, and CtxError if the
    history for fitting cannot be read.
    """
    resolution = session.resolve(revision)
    if resolution.commit is None:
        raise UsageError(f"'{resolution.revision}' is a tree and has no history: name a commit or a branch")
    path = fit_path(session.store.path)
    recorder = fit.Recorder() if fitting else None
    first = Setting(DEFAULT, PLAIN._replace(correct=recorder))
    settings = [first, *(parse(text, path) for text in compare)]
    replay = Replay(
        session, resolution.commit, most, settings, lambda done: step("commits replayed", done, most)
    )
    graded: list[Graded] = []
    samples: list[fit.Sample] = []
    fitted: Fitted | None = None
    interrupted = False
    try:
        for one in replay.run():
            graded.append(one)
            if recorder is not None and recorder.last is not None:
                samples.append(fit.Sample(one.task, *recorder.last))
        if fitting:
            fitted = _fit(session, resolution.commit, replay, graded, samples, path)
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
        fitted,
        interrupted,
    )


def _fit(
    session: SearchSession,
    start: bytes,
    replay: Replay,
    graded: Sequence[Graded],
    samples: Sequence[fit.Sample],
    path: str,
) -> Fitted | None:
    """Learn on the older half, test on the newer half, and store the correction if it helped."""
    try:
        history = CommitHistory(session.repository, start)
    except GitFailed as error:
        raise CtxError(f"cannot learn a correction: {why_unread(session.repository)}") from error
    corrections = fit.fit(samples, history, start)
    if corrections is None:
        return None
    tried, kept = corrections
    newer = graded[: len(samples) // 2]
    corrected = replay.again(
        [one.task for one in newer], Setting("fit", PLAIN._replace(correct=tried.correct))
    )
    both = [Graded(one.task, [one.shown[0], shown]) for one, shown in zip(newer, corrected, strict=True)]
    gained = difference(both, 0, 1)
    helps = gained.low > 0
    if helps:
        session.store.write_file(path, kept.encoded())
    weights = dict(zip(FEATURES, tried.weights.tolist(), strict=True))
    return Fitted(kept.tasks, len(newer), grade(both, 0), grade(both, 1), gained, weights, helps)
