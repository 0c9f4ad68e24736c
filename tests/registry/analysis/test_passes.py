"""Evidence on compiler passes: means, verdicts on single passes, and nothing of private models."""

from math import exp, log, sqrt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.selectors.analysis.passes import ClassPasses, class_passes, mean_ratio
from registry.tables import PassPortfolio, User
from tests.registry import shopfloor
from tests.registry.analysis.pass_studies import study, trial

pytestmark = pytest.mark.django_db


def evidence(actor: Any = None, **filters: str) -> ClassPasses:
    (one,) = class_passes(actor, **filters)
    return one


def test_means_are_geometric_with_the_interval_of_their_measurements() -> None:
    mean = mean_ratio([(0.5, 0.4, 0.625), (0.8, 0.8, 0.8)])
    assert mean is not None
    assert mean.value == pytest.approx(sqrt(0.5 * 0.8))
    half = log(0.625 / 0.4) / 2 / 2
    assert mean.low == pytest.approx(mean.value * exp(-half))
    assert mean.high == pytest.approx(mean.value * exp(half))
    assert (mean.least, mean.most, mean.networks) == (0.5, 0.8, 2)
    assert mean.high < 1
    assert mean_ratio([]) is None
    assert mean_ratio([(0.0, 0.0, 0.0)]) is None


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=10))
def test_a_mean_is_between_its_values(values: list[float]) -> None:
    mean = mean_ratio([(value, value * 0.9, value * 1.1) for value in values])
    assert mean is not None
    assert min(values) * 0.999 <= mean.value <= max(values) * 1.001
    assert mean.low <= mean.value <= mean.high


def test_lists_of_several_networks_are_one_row() -> None:
    study("alice/one", "1" * 64, trial("final", "A,B", compile=0.5, latency=1.0, same_code=True))
    study("alice/two", "2" * 64, trial("final", "A,B", compile=0.72, latency=0.9))
    one = evidence()
    assert one.networks == 2
    (row,) = one.lists
    assert row.compile is not None
    assert row.compile.value == pytest.approx(0.6)
    assert row.latency is not None
    assert row.latency.value == pytest.approx(sqrt(0.9))
    assert (row.networks, row.same_code, row.is_chosen) == (2, 1, False)
    assert row.is_lossless


def test_lists_of_the_portfolio_come_first_and_only_with_evidence() -> None:
    floor = study(
        "alice/one", "1" * 64,
        trial("final", "A,B", compile=0.5, latency=1.2),
        trial("joint", "A", compile=0.9, latency=1.0),
        trial("joint", "B", compile=0.8, latency=1.0),
    )  # fmt: skip
    lists = [{"passes": "A", "objective": "compile", "networks": 9, "ratio": 0.4},
             {"passes": "SECRET", "objective": "compile", "networks": 9, "ratio": 0.4}]  # fmt: skip
    PassPortfolio.objects.create(
        target=floor.target, backend="tvm", toolchain="apache-tvm 0.27",
        architecture_class="plain-cnn", networks=9, lists=lists, made_at="2026-01-01T00:00:00Z",
    )  # fmt: skip
    shown = evidence().lists
    assert [(one.passes, one.is_chosen) for one in shown] == [("A", True), ("A,B", False)]
    assert not shown[1].is_lossless


@pytest.mark.parametrize(
    ("columns", "verdict"),
    [
        ({"compile": 0.7, "latency": 1.0}, "costs compile time only"),
        ({"compile": 0.7, "latency": 1.3}, "needed"),
        ({"compile": 1.0, "latency": 0.7}, "faster without"),
        ({"compile": 1.001, "latency": 1.001}, "no effect shown"),
        ({"outcome": "wrong-output"}, "needed"),
    ],
)
def test_a_pass_is_judged_by_what_happens_without_it(columns: dict[str, Any], verdict: str) -> None:
    study("alice/one", "1" * 64, trial("ablation", "B", about="FuseOps", **columns))
    (effect,) = evidence().effects
    assert effect.name == "FuseOps"
    assert effect.verdict == verdict
    assert effect.networks == 1


def test_a_pass_that_some_networks_need_is_not_called_idle() -> None:
    study("alice/one", "1" * 64, trial("ablation", "B", about="FuseOps", compile=0.5, latency=1.0))
    study("alice/two", "2" * 64, trial("ablation", "B", about="FuseOps", outcome="crash"))
    (effect,) = evidence().effects
    assert effect.verdict == "needed by some"
    assert (effect.networks, effect.failures) == (2, 1)


def test_failures_of_machines_are_no_evidence() -> None:
    study("alice/one", "1" * 64, trial("ablation", "B", about="X", outcome="infrastructure"))
    assert evidence().effects == []


def test_trials_of_private_models_do_not_count() -> None:
    study("alice/one", "1" * 64, trial("final", "A", compile=0.5, latency=1.0))
    study("bob/secret", "2" * 64, trial("final", "A", compile=0.1, latency=1.0), private=True)
    alice, bob = (User.objects.get(username=name) for name in ("alice", "bob"))
    assert evidence(alice).networks == 1
    assert evidence(alice).lists[0].networks == 1
    assert evidence(bob).networks == 2


def test_filters_restrict() -> None:
    study("alice/one", "1" * 64, trial("final", "A", compile=0.5, latency=1.0))
    assert class_passes(None, target="elsewhere") == []
    assert class_passes(None, architecture_class="mlp") == []
    assert evidence(target=shopfloor.SLUG, backend="tvm").backend == "tvm"
