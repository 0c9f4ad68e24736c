"""Proposes schedules of MetaSchedule's design space. Runs in the search child.

Chance draws them as MetaSchedule's ReplayTrace does; so does the learned search until its model has
something to go by. State lives as long as the child: one model for all workloads.
"""

import workers.backends.tvm.without_torch  # noqa: F401  before TVM

# isort: split
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from tvm.s_tir import Schedule
from tvm.s_tir import meta_schedule as ms

from workers.backends.tvm.tuning import moves
from workers.backends.tvm.tuning.evolution import Design, drafted, spread
from workers.backends.tvm.tuning.model import Model
from workers.backends.tvm.tuning.workload import context_of, prepare, scheduled, trace_of, unpack
from workers.engine.errors import InvalidCandidate
from workers.engine.types import sha256_of

#: MetaSchedule keeps no end of its own: the engine ends a search.
_ENDLESS = 10**6
#: Drafts that are applied and judged anew, for each that is proposed.
_VERIFIED = 4
#: Fastest schedules that evolution starts from, and the share of a batch that stays with chance.
_PARENTS, _EXPLORED = 12, 0.125
#: Trials of another workload that the model learns from: more teach it little and take long.
_MOST_FOREIGN = 96
#: Best schedules of another workload to be tried on this one.
_MOST_ADAPTED = 4
#: Neighbours looked at for one step of the descent.
_MOST_NEIGHBOURS = 48


_NO_RESULT = ms.runner.RunnerResult(None, "not told")


@dataclass(slots=True)
class _Task:
    """A workload under search.

    Attributes:
        pending: Proposed, by digest, until its outcome is told.
        told: Digests of schedules whose outcome is known.
        best: Measured schedules: seconds, sketch, decisions.
    """

    key: str
    anchor: str
    context: Any
    spaces: list[tuple[list[Any], moves.Decisions]]
    pending: dict[str, Any] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    best: list[tuple[float, list[Any], moves.Decisions]] = field(default_factory=list)
    adapted: bool = False


class _Search:
    def __init__(
        self, target: Mapping[str, Any], strategy: str, seed: int, batch: int, threads: int
    ) -> None:
        self.target = prepare(target)
        self.strategy, self.seed, self.batch, self.threads = strategy, seed, batch, threads
        self.model = Model(seed)
        self.chance = random.Random(seed)  # noqa: S311  no secret
        self.tasks: dict[str, _Task] = {}

    def add(self, key: str, anchor: str, source: bytes) -> None:
        seed = 1 + (self.seed * 1009 + int(key[:6], 16)) % (2**31 - 2)
        replay = ms.search_strategy.ReplayTrace()
        context = context_of(unpack(source), self.target, replay, seed, self.threads)
        spaces = context.generate_design_space()
        context.pre_tuning(_ENDLESS, self.batch, spaces, ms.database.MemoryDatabase(), None)
        sketches = [moves.cut(trace_of(space)) for space in spaces]
        self.tasks[key] = _Task(key, anchor, context, sketches)

    def propose(self, task: _Task, most: int) -> list[dict[str, Any]]:
        if self.strategy == "random":
            return self._described(task, self._drawn(task)[:most])
        found: list[tuple[str, Any]] = []
        if not task.adapted:
            task.adapted = True
            found = [("transfer", candidate) for candidate in self._adapted(task)]
        if self.model.ready:
            guided = most - len(found) - int(most * _EXPLORED)
            taken = set(task.told)
            found += [("evolution", one) for one in self._bred(task, guided // 3, taken)]
            guided = most - len(found) - int(most * _EXPLORED)
            found += [("evolution", one) for one in self._evolved(task, guided, taken)]
        if len(found) < most:
            found += self._drawn(task)
        return self._described(task, found[:most])

    def _drawn(self, task: _Task) -> list[tuple[str, Any]]:
        """A batch of chance's."""
        drawn = task.context.generate_measure_candidates() or []
        # It waits for results before it draws again; what they are is nothing to it.
        task.context.notify_runner_results(drawn, [_NO_RESULT] * len(drawn))
        return [("random", candidate) for candidate in drawn]

    def _bred(self, task: _Task, most: int, taken: set[str]) -> list[Any]:
        """Neighbours of the fastest measured: what trees make of it lags behind what it showed."""
        if not task.best:
            return []
        _, sketch, decisions = min(task.best, key=lambda entry: entry[0])
        around = [(sketch, other) for other in moves.neighbours(sketch, decisions)]
        self.chance.shuffle(around)
        if not around:
            return []
        order = np.argsort(-self.model.draft(around), kind="stable")
        return self._verified(task, [around[place] for place in order], most, taken)

    def _evolved(self, task: _Task, most: int, taken: set[str]) -> list[Any]:
        """What the model thinks best, of all it can think of from the fastest measured."""
        ranked = sorted(task.best, key=lambda entry: entry[0])[:_PARENTS]
        parents = [(sketch, decisions) for _, sketch, decisions in ranked]
        drafts = drafted(task.spaces, parents, self.model.draft, self.chance)
        return self._verified(task, spread(drafts), most, taken)

    def _verified(
        self, task: _Task, designs: Iterable[Design], most: int, taken: set[str]
    ) -> list[Any]:
        """The best of the first designs that fit and are new, now that their loops are known.

        Args:
            taken: Digests of schedules that are not new; gains those looked at.
        """
        fit: list[Any] = []
        for sketch, decisions in designs:
            if len(fit) >= most * _VERIFIED:
                break
            if sha256_of({"sketch": sketch, "decisions": decisions}) in taken:
                continue
            candidate = _candidate(task, sketch, decisions)
            # Drafts may be spelt otherwise than what comes of them.
            if candidate is not None and (digest := sha256_of(_schedule(candidate))) not in taken:
                taken.add(digest)
                fit.append(candidate)
        if not fit:
            return []
        scores = self.model.predict(self.model.features(task.context, fit))
        return [fit[place] for place in np.argsort(-scores)[:most]]

    def neighbours(
        self, task: _Task, sketch: list[Any], decisions: moves.Decisions, most: int
    ) -> list[dict[str, Any]]:
        around = [
            other
            for other in moves.neighbours(sketch, decisions)
            if sha256_of({"sketch": sketch, "decisions": other}) not in task.told
        ]
        self.chance.shuffle(around)
        fit = [_candidate(task, sketch, other) for other in around[:_MOST_NEIGHBOURS]]
        candidates = [("descent", candidate) for candidate in fit if candidate is not None]
        described = self._described(task, candidates)
        described.sort(key=lambda c: -(c["predicted"] or 0.0))
        return described[:most]

    def learn(self, task: _Task, trials: Sequence[Mapping[str, Any]]) -> None:
        told: list[tuple[Any, float | None]] = []
        for trial in trials:
            task.told.add(trial["digest"])
            candidate = task.pending.pop(trial["digest"], None) or _candidate(
                task, trial["sketch"], trial["decisions"]
            )
            if candidate is None:
                continue
            told.append((candidate, trial["median_s"]))
            if trial["outcome"] == "measured":
                task.best.append((trial["median_s"], trial["sketch"], trial["decisions"]))
        if not told:
            return
        features = self.model.features(task.context, [candidate for candidate, _ in told])
        for (_, seconds), vector in zip(told, features, strict=True):
            self.model.add(task.key, vector, seconds)

    def _adapted(self, task: _Task) -> list[Any]:
        """The best schedules of other workloads of the same anchor, fitted to this one's loops.

        What the model thinks best goes first; a schedule that does not fit is left out.
        """
        found: dict[str, Any] = {}
        for other in self.tasks.values():
            if other is task or other.anchor != task.anchor:
                continue
            ranked = sorted(other.best, key=lambda entry: entry[0])[:_MOST_ADAPTED]
            for _, sketch, decisions in ranked:
                for to_sketch, to_decisions in task.spaces:
                    fitted = moves.adapted(sketch, decisions, to_sketch, to_decisions)
                    candidate = fitted and _candidate(task, to_sketch, fitted)
                    if candidate:
                        found[str(trace_of(candidate.sch)[1])] = candidate
        candidates = list(found.values())
        if candidates and self.model.ready:
            scores = self.model.predict(self.model.features(task.context, candidates))
            candidates = [candidates[n] for n in np.argsort(-scores)]
        # Half a batch: the other half keeps looking where nobody has been.
        return candidates[: max(1, self.batch // 2)]

    def _described(self, task: _Task, found: Sequence[tuple[str, Any]]) -> list[dict[str, Any]]:
        """Candidates as JSON, with what the model thinks of them now; they become pending."""
        candidates = [candidate for _, candidate in found]
        scores: Sequence[float | None] = [None] * len(candidates)
        if candidates and self.model.ready and self.strategy == "evolution":
            features = self.model.features(task.context, candidates)
            scores = [float(score) for score in self.model.predict(features)]
        described = []
        task.pending.clear()
        for (by, candidate), score in zip(found, scores, strict=True):
            schedule = _schedule(candidate)
            digest = sha256_of(schedule)
            if digest not in task.told and digest not in task.pending:
                task.pending[digest] = candidate
                described.append({**schedule, "proposed_by": by, "predicted": score})
        return described


#: The one search of this process.
_SEARCH: list[_Search] = []


def start(*, target: dict[str, Any], strategy: str, seed: int, batch: int, threads: int) -> None:
    """Begin a search; ``strategy`` is ``evolution`` or ``random``."""
    if strategy not in {"evolution", "random"}:
        raise InvalidCandidate(f"no strategy is called {strategy!r}")
    _SEARCH[:] = [_Search(target, strategy, seed, batch, threads)]


def add(*, key: str, anchor: str, source: npt.NDArray[np.uint8]) -> None:
    """Take in a workload, packed."""
    _SEARCH[0].add(key, anchor, source.tobytes())


def propose(*, key: str, most: int) -> list[dict[str, Any]]:
    """Next candidates of a workload."""
    return _SEARCH[0].propose(_SEARCH[0].tasks[key], most)


def neighbours(
    *, key: str, sketch: list[Any], decisions: moves.Decisions, most: int
) -> list[dict[str, Any]]:
    """Candidates one decision away, the most promising first."""
    return _SEARCH[0].neighbours(_SEARCH[0].tasks[key], sketch, decisions, most)


def learn(*, key: str, trials: list[dict[str, Any]]) -> None:
    """Take in trials of a workload: of the best and of all the rest some."""
    search = _SEARCH[0]
    if len(trials) > _MOST_FOREIGN:
        ranked = sorted(trials, key=lambda t: t["median_s"] or np.inf)
        half = _MOST_FOREIGN // 2
        trials = ranked[:half] + search.chance.sample(ranked[half:], half)
    search.learn(search.tasks[key], trials)


def trace(*, key: str, sketch: list[Any], decisions: moves.Decisions) -> list[Any]:
    """The whole trace of a schedule."""
    return trace_of(scheduled(_SEARCH[0].tasks[key].context, sketch, decisions))


def _schedule(candidate: Any) -> dict[str, Any]:
    sketch, decisions = moves.cut(trace_of(candidate.sch))
    return {"sketch": sketch, "decisions": decisions}


def _candidate(task: _Task, sketch: list[Any], decisions: moves.Decisions) -> Any:
    """A measure candidate, or ``None`` where the schedule does not fit."""
    try:
        schedule: Schedule = scheduled(task.context, sketch, decisions)
    except InvalidCandidate:
        return None
    arguments = ms.arg_info.ArgInfo.from_entry_func(schedule.mod, remove_preproc=True)
    return ms.search_strategy.MeasureCandidate(schedule, arguments)
