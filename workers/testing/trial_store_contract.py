"""Contract of trial stores, tested by subclasses::

    class TestMine(TrialStoreContract):
        @pytest.fixture(autouse=True)
        def database(self, tmp_path): ...

        def make(self, history=(), experience=()):
            return Mine(...)

See :meth:`TrialStoreContract.make`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from hpcfair.measurement.types import Block, Deviation, Interval
from hpcfair.precisions import Tolerance
from workers.engine.ports import TrialStore
from workers.engine.trials import Experience, Measurement, Prior, Trial
from workers.engine.types import BuildResult, Candidate, Outcome


def make_trial(number: int, outcome: Outcome = "measured", tolerance: Tolerance = "exact") -> Trial:
    """A trial with every field set that its outcome allows."""
    candidate = Candidate(
        "fake", {"number": number, "fast": True, "kernel": "blocked", "scale": 0.5}
    )
    if outcome not in {"measured", "pruned"}:
        build = BuildResult(outcome, detail="why")
        return Trial(number, candidate, "tpe", outcome, 1.5, build=build, detail="why")
    measurement = Measurement(
        blocks=(Block(0, (100, 110), (90, 91, 92)), Block(1, (105,), (89,))),
        ratio=Interval(0.9 + number / 1000, 0.85, 0.99),
        candidate_p50_ns=90,
        baseline_p50_ns=105,
        verdict="unstable",
        quality={"load_before": 0.25, "contended_rounds": [1]},
        protocol={"stop_rule": "enough", "half_width": 0.03, "max_s": 4.0},
    )
    return Trial(
        number=number,
        candidate=candidate,
        proposed_by="tpe",
        outcome=outcome,
        duration_s=2.5,
        build=BuildResult("measured", tolerance=tolerance, compile_s=0.5),
        deviation=Deviation(1e-6, 2e-6, 3e-6, 0.999),
        accuracy=0.75,
        measurement=measurement,
        predicted_ratio=0.8,
    )


def make_experience(number: int, outcome: Outcome = "measured") -> Experience:
    """The experience of a search of another network."""
    return Experience(
        candidate=Candidate("fake", {"number": number, "fast": True, "scale": 0.5}),
        outcome=outcome,
        tolerance="int8" if outcome == "measured" else "exact",
        ratio=0.5 + number / 10 if outcome == "measured" else None,
        network=f"{number:064x}",
        architecture_class="transformer",
        embedding=(0.6, 0.8),
        target="x86-64-avx512",
        features=frozenset({"avx2", "avx512f"}),
        seconds=2.5,
    )


class TrialStoreContract(ABC):
    """See :class:`workers.engine.ports.TrialStore`."""

    @abstractmethod
    def make(
        self, history: Sequence[Prior] = (), experience: Sequence[Experience] = ()
    ) -> TrialStore:
        """The search's store; a later call in the same test opens it again, as after a crash."""

    def test_trials_come_back_by_number_after_a_crash(self) -> None:
        store = self.make()
        for number in range(3):
            store.add(make_trial(number))
        assert [trial.number for trial in self.make().trials()] == [0, 1, 2]

    def test_a_new_search_has_no_trials(self) -> None:
        assert not self.make().trials()

    def test_a_candidate_that_only_began_is_no_trial(self) -> None:
        self.make().begin(make_trial(0).candidate)
        assert not self.make().trials()

    def test_what_was_measured_comes_back_as_it_was(self) -> None:
        trial = make_trial(0, tolerance="int8")
        self.make().add(trial)
        (stored,) = self.make().trials()
        assert stored.candidate == trial.candidate
        assert stored.candidate.sha256 == trial.candidate.sha256
        assert stored.measurement == trial.measurement
        assert stored.deviation == trial.deviation
        assert stored.tolerance == "int8"
        for name in ("proposed_by", "outcome", "duration_s", "accuracy", "predicted_ratio"):
            assert getattr(stored, name) == getattr(trial, name)

    def test_option_values_keep_their_types(self) -> None:
        self.make().add(make_trial(1))
        (stored,) = self.make().trials()
        types = {name: type(value) for name, value in stored.candidate.options.items()}
        assert types == {"number": int, "fast": bool, "kernel": str, "scale": float}

    def test_failures_are_kept_with_their_class_and_reason(self) -> None:
        outcomes: tuple[Outcome, ...] = ("infrastructure", "invalid", "timeout", "crash")
        store = self.make()
        for number, outcome in enumerate(outcomes):
            store.add(make_trial(number, outcome))
        stored = self.make().trials()
        assert [trial.outcome for trial in stored] == list(outcomes)
        assert {trial.detail for trial in stored} == {"why"}
        assert {trial.ratio for trial in stored} == {None}

    def test_a_candidate_may_be_tried_again_after_the_machine_failed(self) -> None:
        store = self.make()
        failed, again = make_trial(0, "infrastructure"), make_trial(0)
        store.add(failed)
        store.add(Trial(1, failed.candidate, "tpe", "measured", 1.0, again.build))
        outcomes = [trial.outcome for trial in self.make().trials()]
        assert outcomes == ["infrastructure", "measured"]

    def test_history_comes_best_first(self) -> None:
        priors = [
            Prior(Candidate("fake", {"n": n}), ratio, "exact")
            for n, ratio in enumerate((0.9, 0.4, 1.2))
        ]
        history = self.make(priors).history()
        assert [prior.ratio for prior in history] == [0.4, 0.9, 1.2]

    def test_experience_comes_back_as_it_was(self) -> None:
        experiences = [make_experience(1), make_experience(2, "crash")]
        experience = self.make(experience=experiences).experience()
        assert sorted(experience, key=lambda each: each.network) == experiences
        assert type(experience[0].candidate.options["fast"]) is bool

    def test_own_trials_are_no_experience(self) -> None:
        store = self.make()
        store.add(make_trial(0))
        assert not store.experience()
        assert not self.make().experience()
