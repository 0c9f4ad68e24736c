"""The replay of searches: its arithmetic, its tables, and searches on made-up ones."""

from dataclasses import replace
from itertools import permutations
from pathlib import Path
from random import Random
from statistics import mean

import numpy as np
import pytest

from benchmarks import replay, synthetic
from benchmarks.search import nontrivial_problems
from benchmarks.search_tables import MODELS, Study, measured
from benchmarks.tables import Row, Table, read_all, table_from_dict, write
from examples.models.catalogue import MAKERS
from tests.programs import needs
from tests.workers.engine.cast import NETWORK, TARGET
from workers.backends.fake.backend import FakeBackend
from workers.engine.requests import SearchBudget, TuningRequest
from workers.engine.space import Choice, Flag, Space
from workers.engine.strategies import STRATEGIES
from workers.engine.trial_store import JsonLinesTrialStore
from workers.engine.types import Candidate, Options
from workers.testing.simulation import SimulatedDevice, VirtualClock

TABLES = synthetic.tables(1)


def small(ratios: list[float | None]) -> Table:
    """A table of configurations ``n = 0, 1, ...`` with these ratios, all exact."""
    space = Space({"n": Choice(tuple(range(len(ratios))))})
    rows = tuple(
        Row(Candidate("x", {"n": n}), "measured" if ratio else "crash", "exact", ratio, 1.0)
        for n, ratio in enumerate(ratios)
    )
    default = (Candidate("x", {"n": 0}),)
    return replace(TABLES[0], spaces={"x": space}, rows=rows, defaults=default)


def test_blind_search_needs_what_counting_all_orders_says() -> None:
    firsts = [min(order.index(0), order.index(1)) + 1 for order in permutations(range(6))]
    assert replay.blind_trials(6, 2) == pytest.approx(mean(firsts))
    # The worked example of the protocol.
    assert replay.blind_trials(60, 5) == pytest.approx(10.17, abs=0.01)


def test_a_fixed_order_is_charged_up_to_its_first_good_one_and_then_blindly() -> None:
    table = small([1.0, 0.5, 0.51, 0.9, 0.9])
    by_number = [row.candidate for row in table.rows]
    assert replay.first_good([by_number[3], by_number[2]], table, "exact") == 2
    assert replay.first_good([by_number[3]], table, "exact") == 1 + replay.blind_trials(4, 2)


def test_every_trial_is_charged_and_regret_counts_what_the_user_accepts() -> None:
    table = small([1.0, None, 0.9, 0.5, 0.7])
    problem = replay.problem(table, seed=0)
    run = replay.replay(table, STRATEGIES["random"](problem), 5, fewest=5)
    at = next(n for n, t in enumerate(run.trials, 1) if t.candidate.options == {"n": 3})
    assert run.reached["exact"] == (at, float(at))
    assert run.regret(table, "exact", 1) == pytest.approx(1.0)
    assert run.regret(table, "exact", 5) == 0
    ended = replay.replay(table, STRATEGIES["default"](problem), 5)
    assert (len(ended.trials), ended.reached["exact"]) == (1, None)


def test_trivial_problems_are_dropped() -> None:
    hard = small([1.0, 0.5, 0.9, 0.9, 0.9, 0.9])
    assert [problem[1] for problem in nontrivial_problems([hard])] == ["exact", "int8"]
    assert nontrivial_problems([small([1.0, 0.5, 0.51, 0.9, 0.9])]) == []


# Tables


def test_a_table_comes_back_as_it_was_and_knows_whether_it_was_changed(tmp_path: Path) -> None:
    write(TABLES[0], tmp_path)
    (back,) = read_all(tmp_path)
    assert back.as_dict() == TABLES[0].as_dict()
    document = TABLES[0].as_dict()
    document["rows"][3][4] = 0.001
    with pytest.raises(ValueError, match="changed"):
        table_from_dict(document)
    with pytest.raises(ValueError, match="not a table"):
        table_from_dict({})


def test_committed_tables_are_whole_and_small() -> None:
    folder = Path(__file__).parents[2] / "benchmarks" / "tables"
    assert all(len(table.rows) > 1 for table in read_all(folder))
    assert sum(path.stat().st_size for path in folder.glob("*.json")) < 300_000


class Few(FakeBackend):
    """Sixteen configurations."""

    def space(self, network: object, target: object) -> Space:  # noqa: ARG002
        return Space(
            {
                "kernel": Choice(("direct",)),
                "layout": Choice(("nchw",)),
                "vectorise": Flag(),
                "threads": Choice((1, 2, 3, 4)),
                "precision": Choice(("float32", "int8")),
            }
        )


@needs("git")
def test_a_table_is_measured_once_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    backend, clock = Few(), VirtualClock()
    budget = SearchBudget(seconds=None, trials=None, seconds_per_measurement=2.5, half_width=0.02)
    request = TuningRequest(NETWORK, TARGET, ("fake",), budget, reference_backend="fake")
    study = Study("pretend", "none", request, {"fake": backend}, {"fake": backend.space(0, 0)})
    path = tmp_path / "trials.jsonl"

    class Stopped(JsonLinesTrialStore):
        def add(self, trial: object) -> None:
            super().add(trial)  # type: ignore[arg-type]
            if len(self.trials()) == 5:
                raise KeyboardInterrupt

    with SimulatedDevice({"fake": backend}, NETWORK, TARGET, clock) as device:
        with pytest.raises(KeyboardInterrupt):
            measured(study, device, Stopped(path), clock)
        device.built.clear()
        table = measured(study, device, JsonLinesTrialStore(path), clock)
    once: list[Options] = [options for _, options in device.built[2 : 2 + 11]]
    first = {row.candidate.sha256 for row in table.rows[:5]}
    assert not first & {Candidate("fake", options).sha256 for options in once}
    assert len(table.rows) == 16
    assert table.best("exact") < 1
    assert table.best("int8") < table.best("exact")
    assert table.facts["measured_again"] >= 2
    assert table_from_dict(table.as_dict()).rows[0].candidate == table.rows[0].candidate


# Searches


@pytest.mark.slow
def test_history_saves_most_of_the_trials_that_blind_search_needs() -> None:
    """Geometric means over made-up networks, each without its own family's history."""
    ratios = []
    for table in TABLES[:4]:
        rng = Random(0)  # noqa: S311
        others = [other for other in TABLES if other.family != table.family]
        known = []
        for other in others:
            some = [row.candidate for row in rng.sample(other.rows, 40)]
            known += other.experience(some)
        strategy = STRATEGIES["learned"](replay.problem(table, 0, known))
        run = replay.replay(table, strategy, len(table.rows))
        for problem, found in run.reached.items():
            assert found is not None
            blind = replay.blind_trials(len(table.rows), len(table.good(problem)))
            ratios.append(blind / found[0])
    assert np.exp(np.mean(np.log(ratios))) > 2.5


def test_every_network_of_the_tables_is_an_example() -> None:
    assert not MODELS.keys() - MAKERS.keys()
