"""Search of MetaSchedule's design space by evolution with a cost model, or at random.

Random schedules are those of MetaSchedule's ReplayTrace; evolution starts with them, or with those
that follow principles, until its model has enough samples. One model serves all workloads.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from tvm.s_tir import Schedule
from tvm.s_tir import meta_schedule as ms

from workers.backends.tvm.tuning import moves
from workers.backends.tvm.tuning.evolution import Design, draft, spread
from workers.backends.tvm.tuning.model import ScheduleCostModel
from workers.backends.tvm.tuning.principled import PRINCIPLED_TRIALS, Wish, principled
from workers.backends.tvm.tuning.workload import context_of, prepare, scheduled, trace_of, unpack
from workers.engine.errors import InvalidCandidate
from workers.engine.types import sha256_of

#: Number of trials for MetaSchedule; the engine ends a search.
_ENDLESS = 10**6
#: Drafts that are applied and ranked again, per proposal.
_VERIFIED = 4
#: Number of fastest schedules that evolution starts from; fraction of random proposals.
_PARENTS, _EXPLORED = 12, 0.125
#: Best schedules of another workload to transfer to this one.
_MOST_ADAPTED = 4
#: Neighbours ranked for one step of the descent.
_MOST_NEIGHBOURS = 48
_NO_RESULT = ms.runner.RunnerResult(None, "not measured here")


@dataclass(slots=True)
class SearchTask:
    """A workload under search.

    Attributes:
        pending: Proposed candidates without outcome, by digest; ``tried`` has those with one.
        best: Measured schedules: seconds, sketch, decisions.
        adapted: Whether schedules of other workloads were proposed.
    """

    key: str
    anchor: str
    context: Any
    spaces: list[tuple[list[Any], moves.Decisions]]
    pending: dict[str, Any] = field(default_factory=dict)
    tried: set[str] = field(default_factory=set)
    best: list[tuple[float, list[Any], moves.Decisions]] = field(default_factory=list)
    adapted: bool = False


class ScheduleSearch:
    """State of the search over all workloads."""

    def __init__(
        self,
        target: Mapping[str, Any],
        strategy: str,
        seed: int,
        batch: int,
        threads: int,
        principles: Mapping[str, Sequence[Wish]] | None = None,
    ) -> None:
        self.target = prepare(target)
        self.strategy, self.seed, self.batch, self.threads = strategy, seed, batch, threads
        self.model = ScheduleCostModel(seed)
        self.rng = random.Random(seed)  # noqa: S311  not for secrets
        self.principles = dict(principles or {})
        self.tasks: dict[str, SearchTask] = {}

    def add(self, key: str, anchor: str, source: bytes) -> None:
        """Add a workload."""
        seed = 1 + (self.seed * 1009 + int(key[:6], 16)) % (2**31 - 2)
        replay = ms.search_strategy.ReplayTrace()
        context = context_of(unpack(source), self.target, replay, seed, self.threads)
        spaces = context.generate_design_space()
        context.pre_tuning(_ENDLESS, self.batch, spaces, ms.database.MemoryDatabase(), None)
        sketches = [moves.cut(trace_of(space)) for space in spaces]
        self.tasks[key] = SearchTask(key, anchor, context, sketches)

    def propose(self, task: SearchTask, most: int) -> list[dict[str, Any]]:
        """The next candidates of a workload."""
        if self.strategy == "random":
            return self._described(task, self._random(task)[:most])
        proposals: list[tuple[str, Any]] = []
        if not task.adapted:
            task.adapted = True
            proposals = [("transfer", candidate) for candidate in self._adapted(task)]
        count = most - len(proposals) - int(most * _EXPLORED)
        proposals += [("principle", candidate) for candidate in self._principled(task, count)]
        if self.model.ready:
            guided = most - len(proposals) - int(most * _EXPLORED)
            excluded = set(task.tried)
            near = self._best_neighbours(task, guided // 3, excluded)
            proposals += [("evolution", candidate) for candidate in near]
            guided = most - len(proposals) - int(most * _EXPLORED)
            evolved = self._evolved(task, guided, excluded)
            proposals += [("evolution", candidate) for candidate in evolved]
        if len(proposals) < most:
            proposals += self._random(task)
        return self._described(task, proposals[:most])

    def _random(self, task: SearchTask) -> list[tuple[str, Any]]:
        batch = task.context.generate_measure_candidates() or []
        # ReplayTrace requires results before the next batch but ignores them.
        task.context.notify_runner_results(batch, [_NO_RESULT] * len(batch))
        return [("random", candidate) for candidate in batch]

    def _principled(self, task: SearchTask, most: int) -> list[Any]:
        """The first schedules of a workload follow the principles of its anchor, if it has any."""
        wishes = self.principles.get(task.anchor, ())
        if not wishes or len(task.tried) >= PRINCIPLED_TRIALS:
            return []
        designs = principled(task.spaces, wishes, self.rng)
        excluded = set(task.tried)
        if self.model.ready:
            return self._verified(task, designs, most, excluded)
        fit = (_candidate(task, *design) for design in islice(designs, most * _VERIFIED))
        return list(islice((candidate for candidate in fit if candidate is not None), most))

    def _best_neighbours(self, task: SearchTask, most: int, excluded: set[str]) -> list[Any]:
        """Neighbours of the fastest measured schedule, whose score the model may underestimate."""
        if not task.best:
            return []
        _, sketch, decisions = min(task.best, key=lambda entry: entry[0])
        designs = [(sketch, other) for other in moves.neighbours(sketch, decisions)]
        self.rng.shuffle(designs)
        if not designs:
            return []
        order = np.argsort(-self.model.draft(designs), kind="stable")
        return self._verified(task, [designs[n] for n in order], most, excluded)

    def _evolved(self, task: SearchTask, most: int, excluded: set[str]) -> list[Any]:
        """Schedules with the highest score after evolution from the fastest measured ones."""
        ranked = sorted(task.best, key=lambda entry: entry[0])[:_PARENTS]
        parents = [(sketch, decisions) for _, sketch, decisions in ranked]
        drafts = draft(task.spaces, parents, self.model.draft, self.rng)
        return self._verified(task, spread(drafts), most, excluded)

    def _verified(
        self, task: SearchTask, designs: Iterable[Design], most: int, excluded: set[str]
    ) -> list[Any]:
        """The best of the first valid designs, ranked with features of their loops. Digests in
        ``excluded`` are skipped; those examined are added."""
        fit: list[Any] = []
        for sketch, decisions in designs:
            if len(fit) >= most * _VERIFIED:
                break
            if sha256_of({"sketch": sketch, "decisions": decisions}) in excluded:
                continue
            candidate = _candidate(task, sketch, decisions)
            # Equal schedules can have different drafts.
            if (
                candidate is not None
                and (digest := sha256_of(_schedule(candidate))) not in excluded
            ):
                excluded.add(digest)
                fit.append(candidate)
        if not fit:
            return []
        scores = self.model.predict(self.model.features(task.context, fit))
        return [fit[n] for n in np.argsort(-scores)[:most]]

    def neighbours(
        self, task: SearchTask, sketch: list[Any], decisions: moves.Decisions, most: int
    ) -> list[dict[str, Any]]:
        """Candidates with one changed decision, highest score first."""
        around = [
            other
            for other in moves.neighbours(sketch, decisions)
            if sha256_of({"sketch": sketch, "decisions": other}) not in task.tried
        ]
        self.rng.shuffle(around)
        fit = [_candidate(task, sketch, other) for other in around[:_MOST_NEIGHBOURS]]
        candidates = [("descent", candidate) for candidate in fit if candidate is not None]
        described = self._described(task, candidates)
        described.sort(key=lambda c: -(c["predicted"] or 0.0))
        return described[:most]

    def learn(self, task: SearchTask, trials: Sequence[Mapping[str, Any]]) -> None:
        """Add trials of a workload."""
        samples: list[tuple[Any, float | None]] = []
        for trial in trials:
            task.tried.add(trial["digest"])
            candidate = task.pending.pop(trial["digest"], None) or _candidate(
                task, trial["sketch"], trial["decisions"]
            )
            if candidate is None:
                continue
            samples.append((candidate, trial["median_s"]))
            if trial["outcome"] == "measured":
                task.best.append((trial["median_s"], trial["sketch"], trial["decisions"]))
        if not samples:
            return
        features = self.model.features(task.context, [candidate for candidate, _ in samples])
        for (_, seconds), vector in zip(samples, features, strict=True):
            self.model.add(task.key, vector, seconds)

    def _adapted(self, task: SearchTask) -> list[Any]:
        """The best schedules of other workloads with the same anchor, adapted to this one's loops
        if they fit; highest score first."""
        adapted: dict[str, Any] = {}
        for other in self.tasks.values():
            if other is task or other.anchor != task.anchor:
                continue
            ranked = sorted(other.best, key=lambda entry: entry[0])[:_MOST_ADAPTED]
            for _, sketch, decisions in ranked:
                for to_sketch, to_decisions in task.spaces:
                    fitted = moves.adapt(sketch, decisions, to_sketch, to_decisions)
                    candidate = fitted and _candidate(task, to_sketch, fitted)
                    if candidate:
                        adapted[str(trace_of(candidate.sch)[1])] = candidate
        candidates = list(adapted.values())
        if candidates and self.model.ready:
            scores = self.model.predict(self.model.features(task.context, candidates))
            candidates = [candidates[n] for n in np.argsort(-scores)]
        # Half a batch; the other half explores.
        return candidates[: max(1, self.batch // 2)]

    def _described(
        self, task: SearchTask, proposals: Sequence[tuple[str, Any]]
    ) -> list[dict[str, Any]]:
        """Candidates as JSON with their scores; they become pending."""
        candidates = [candidate for _, candidate in proposals]
        scores: Sequence[float | None] = [None] * len(candidates)
        if candidates and self.model.ready and self.strategy == "evolution":
            features = self.model.features(task.context, candidates)
            scores = [float(score) for score in self.model.predict(features)]
        described = []
        task.pending.clear()
        for (by, candidate), score in zip(proposals, scores, strict=True):
            schedule = _schedule(candidate)
            digest = sha256_of(schedule)
            if digest not in task.tried and digest not in task.pending:
                task.pending[digest] = candidate
                described.append({**schedule, "proposed_by": by, "predicted": score})
        return described


def _schedule(candidate: Any) -> dict[str, Any]:
    sketch, decisions = moves.cut(trace_of(candidate.sch))
    return {"sketch": sketch, "decisions": decisions}


def _candidate(task: SearchTask, sketch: list[Any], decisions: moves.Decisions) -> Any:
    """A candidate of MetaSchedule; ``None`` if the schedule does not fit."""
    try:
        schedule: Schedule = scheduled(task.context, sketch, decisions)
    except InvalidCandidate:
        return None
    arguments = ms.arg_info.ArgInfo.from_entry_func(schedule.mod, remove_preproc=True)
    return ms.search_strategy.MeasureCandidate(schedule, arguments)
