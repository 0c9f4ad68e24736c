"""Pass trials and portfolios of an architecture class, as rows and as the engine's values."""

from collections.abc import Sequence
from math import exp, log
from statistics import fmean
from typing import Any

from hpcfair.measurement.types import Interval
from workers.device.ports import Hub
from workers.engine.passes.objective import Objective, PassComparison, PassTrial
from workers.engine.passes.portfolio import NetworkScores

_MAX_TOOLCHAIN = 64


def pass_portfolio(
    hub: Hub, architecture_class: str, toolchains: dict[str, dict[str, str]]
) -> dict[str, tuple[str, ...]]:
    """Portfolio of an architecture class on the job's target: backend to lists of passes, best
    first. ``toolchains`` maps a backend to names and versions of its packages."""
    names = {backend: toolchain_of(versions) for backend, versions in toolchains.items()}
    portfolio = hub.read("portfolio_of", architecture_class=architecture_class, toolchains=names)
    return {backend: tuple(lists) for backend, lists in portfolio.items()}


def toolchain_of(versions: dict[str, str]) -> str:
    """Names and versions of a backend's packages as one text of at most 64 characters."""
    return ", ".join(f"{name} {v}" for name, v in versions.items())[:_MAX_TOOLCHAIN]


def networks_of(rows: Sequence[dict[str, Any]], objective: Objective) -> list[NetworkScores]:
    """Scores of all lists of passes for each network of a class. ``rows`` are trials, oldest first;
    of a list the last ``final`` one counts, else the last."""
    latest: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        lists = latest.setdefault(row["graph_hash"], {})
        earlier = lists.get(row["passes"])
        if earlier is None or row["role"] == "final" or earlier["role"] != "final":
            lists[row["passes"]] = row
    return [
        NetworkScores(
            graph_hash,
            "",
            {passes: _comparison(row).score(objective) for passes, row in lists.items()},
        )
        for graph_hash, lists in latest.items()
    ]


def portfolio_entry(
    objective: str, passes: str, networks: Sequence[NetworkScores]
) -> dict[str, Any]:
    """A list of passes as an item of ``PassPortfolio.lists``."""
    scores = [network.with_portfolio([passes]) for network in networks]
    return {
        "passes": passes,
        "objective": objective,
        "networks": sum(score < 1 for score in scores),
        "ratio": round(exp(fmean(log(score) for score in scores)), 4),
    }


def trial_row(trial: PassTrial) -> dict[str, Any]:
    """Columns of a trial without those of its class."""
    comparison = trial.comparison
    row: dict[str, Any] = {
        "number": trial.number,
        "role": trial.role,
        "about": trial.about,
        "passes": trial.passes,
        "outcome": comparison.outcome,
        "failure_detail": comparison.detail,
        "same_code": comparison.same_code,
        "compile_s": comparison.compile_s or None,
        "measurement": {**comparison.raw, "fingerprint": comparison.fingerprint},
    }
    for name, ratio in (("compile_ratio", comparison.compile), ("ratio", comparison.latency)):
        if ratio is not None:
            row |= {name: ratio.value, f"{name}_low": ratio.low, f"{name}_high": ratio.high}
    return row


def trial_of(row: dict[str, Any]) -> PassTrial:
    """A stored trial, without raw samples."""
    return PassTrial(row["number"], row["role"], row["passes"], _comparison(row), row["about"])


def _comparison(row: dict[str, Any]) -> PassComparison:
    return PassComparison(
        outcome=row["outcome"],
        detail=row["failure_detail"],
        compile=_interval(row, "compile_ratio"),
        latency=_interval(row, "ratio"),
        same_code=row["same_code"],
        compile_s=row["compile_s"] or 0.0,
    )


def _interval(row: dict[str, Any], name: str) -> Interval | None:
    if row[name] is None:
        return None
    return Interval(row[name], row[f"{name}_low"], row[f"{name}_high"])
