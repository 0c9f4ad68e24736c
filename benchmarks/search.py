"""How many trials a search needs: ``make bench NAME=search``; a replay on frozen tables.

A table holds all N configurations of a network on a target (:mod:`benchmarks.search_tables`). A
problem is a table and a user, who requires float32 results (``exact``) or accepts any precision
(``int8``); k configurations are within 5 % of this user's best. Problems with k / N above 20 % are
trivial and left out.

- Trials to a good one (T5): all count, also failures and the baseline; a search without a good one
  is charged all its trials.
- The baseline is random search without replacement: (N + 1) / (k + 1) trials expected, exactly.
- ``cold`` has no prior results. ``history`` has those of cold searches of all networks of other
  families, 24 trials each.
- Figures are the geometric mean over problems of random search's trials divided by the mean trials
  over seeds; the interval is a bootstrap over families.
- ``static`` tries the best configuration of the other families first, ``portfolio`` the portfolio;
  then both continue at random.
"""

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import replay
from benchmarks.report import Figure, counted, environment, report, say
from benchmarks.synthetic import tables as made_up
from benchmarks.tables import FOLDER, Table, read_all
from hpcfair.precisions import Tolerance
from workers.engine.strategies import STRATEGIES
from workers.engine.strategies.peers import Peer, peers_of
from workers.engine.strategies.portfolio import portfolio
from workers.engine.trials import Experience
from workers.engine.types import Candidate

TRIVIAL = 0.2
#: Trials of each past search, and number of different pasts over which the seeds rotate.
PAST_TRIALS, PASTS = 24, 3
_MOST_TRIALS = 64
_REGRET_AT = 5
_RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Result:
    """Means over seeds of one method on one problem."""

    table: Table
    tolerance: Tolerance
    gain: float
    gain_seconds: float
    regret: float
    censored: float


def main() -> None:
    options = _options()
    tables = made_up() if options.synthetic else read_all(options.tables)
    if not tables:
        raise SystemExit("There are no tables: python -m benchmarks.search_tables makes them.")
    problems = nontrivial_problems(tables)
    facts = environment(
        "optuna", "xgboost-cpu", tables={t.model: len(t.rows) for t in tables},
        made_up=options.synthetic, seeds=options.seeds, problems=len(problems),
    )  # fmt: skip
    started = time.monotonic()
    pasts = [_pasts(tables, seed) for seed in range(min(PASTS, options.seeds))]
    cold = _replayed(problems, options.seeds, lambda _table, _seed: [])
    say(f"cold: {time.monotonic() - started:.0f} s")
    history = _replayed(
        problems, options.seeds, lambda table, seed: pasts[seed % len(pasts)][table.family]
    )
    say(f"history: {time.monotonic() - started:.0f} s")
    figures = {
        **_figures("cold", cold),
        **_figures("history", history),
        "static": _over_families(problems, [_static(t, p, tables) for t, p in problems]),
        "portfolio": _over_families(problems, [_by_portfolio(t, p, tables) for t, p in problems]),
        "problems": counted(len(problems), "problems"),
        "trivial": counted(2 * len(tables) - len(problems), "problems dropped"),
    }
    report("search", figures, baseline="blind search without replacement", environment=facts)


def nontrivial_problems(tables: Sequence[Table]) -> list[tuple[Table, Tolerance]]:
    """The non-trivial problems, each reported with its k and N."""
    nontrivial: list[tuple[Table, Tolerance]] = []
    for table in tables:
        for tolerance in replay.PROBLEMS:
            size, good = len(table.rows), len(table.good(tolerance))
            trivial = good > TRIVIAL * size
            best = 1 / table.best(tolerance)
            say(
                f"{table.model:14} {tolerance:6} N {size:4} k {good:3} best {best:5.2f}x "
                f"blind {replay.blind_trials(size, good):5.1f} trials{', trivial' * trivial}"
            )
            if not trivial:
                nontrivial.append((table, tolerance))
    return nontrivial


def _pasts(tables: Sequence[Table], seed: int) -> dict[str, list[Experience]]:
    histories = {
        table.model: replay.history([table], STRATEGIES["learned"], seed, PAST_TRIALS)
        for table in tables
    }
    return {
        family: [e for t in tables if t.family != family for e in histories[t.model]]
        for family in {table.family for table in tables}
    }


def _replayed(
    problems: Sequence[tuple[Table, Tolerance]],
    seeds: int,
    history: Callable[[Table, int], list[Experience]],
) -> list[Result]:
    runs: dict[str, list[replay.Run]] = {}
    for table in {table.model: table for table, _ in problems}.values():
        runs[table.model] = [
            replay.replay(
                table,
                STRATEGIES["learned"](replay.problem(table, seed, history(table, seed))),
                min(_MOST_TRIALS, len(table.rows)),
                fewest=_REGRET_AT,
            )
            for seed in range(seeds)
        ]
    return [_result(table, tolerance, runs[table.model]) for table, tolerance in problems]


def _result(table: Table, tolerance: Tolerance, runs: Sequence[replay.Run]) -> Result:
    reached = [run.reached[tolerance] for run in runs]
    most = min(_MOST_TRIALS, len(table.rows))
    all_seconds = sum(row.seconds for row in table.rows)
    needed = [most if each is None else each[0] for each in reached]
    seconds = [
        all_seconds * most / len(table.rows) if each is None else each[1] for each in reached
    ]
    blind = replay.blind_trials(len(table.rows), len(table.good(tolerance)))
    return Result(
        table,
        tolerance,
        gain=blind / float(np.mean(needed)),
        gain_seconds=blind * all_seconds / len(table.rows) / float(np.mean(seconds)),
        regret=float(np.median([run.regret(table, tolerance, _REGRET_AT) for run in runs])),
        censored=float(np.mean([each is None for each in reached])),
    )


def _figures(method: str, results: Sequence[Result]) -> dict[str, Figure]:
    problems = [(result.table, result.tolerance) for result in results]
    for result in results:
        say(
            f"{method:8} {result.table.model:14} {result.tolerance:6} {result.gain:6.2f}x fewer "
            f"trials, regret after {_REGRET_AT}: {result.regret:.1%}, cut {result.censored:.0%}"
        )
    return {
        method: _over_families(problems, [result.gain for result in results]),
        f"{method}_seconds": _over_families(problems, [r.gain_seconds for r in results]),
        f"regret5_{method}": _over_families(
            problems, [100 * result.regret for result in results], np.median, "%"
        ),
        f"cut_{method}": counted(float(np.mean([result.censored for result in results])), "share"),
    }


def _geometric(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def _over_families(
    problems: Sequence[tuple[Table, Tolerance]],
    values: Sequence[float],
    of: Callable[[Sequence[float]], float] = _geometric,
    unit: str = "x",
) -> Figure:
    """A statistic over problems, with a bootstrap over families."""
    by_family: dict[str, list[float]] = {}
    for (table, _), value in zip(problems, values, strict=True):
        by_family.setdefault(table.family, []).append(value)
    chance = np.random.default_rng(0)
    names = sorted(by_family)
    drawn = []
    for _ in range(_RESAMPLES):
        chosen = [names[at] for at in chance.integers(0, len(names), len(names))]
        drawn.append(float(of([value for name in chosen for value in by_family[name]])))
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Figure(float(of(values)), float(low), float(high), unit)


def _static(table: Table, tolerance: Tolerance, tables: Sequence[Table]) -> float:
    """The best configuration on average over the other families, then random search."""
    means = _means(_full_peers(table, tables), table, tolerance)
    order = [min(means, key=lambda candidate: means[candidate])] if means else []
    blind = replay.blind_trials(len(table.rows), len(table.good(tolerance)))
    by_sha = {row.candidate.sha256: row.candidate for row in table.rows}
    return blind / replay.first_good([by_sha[sha256] for sha256 in order], table, tolerance)


def _means(peers: Sequence[Peer], table: Table, tolerance: Tolerance) -> Mapping[str, float]:
    """Mean logarithm of ratios of candidates that at least half of the networks have."""
    values: dict[str, list[float]] = {}
    accepted = {row.candidate.sha256 for row in table.accepted(tolerance)}
    for peer in peers:
        for result in peer.results:
            if result.candidate.sha256 in accepted:
                values.setdefault(result.candidate.sha256, []).append(result.value)
    return {
        sha256: float(np.mean(each))
        for sha256, each in values.items()
        if len(each) >= len(peers) / 2
    }


def _by_portfolio(table: Table, tolerance: Tolerance, tables: Sequence[Table]) -> float:
    listed = portfolio(_full_peers(table, tables), table.architecture_class)
    order: list[Candidate] = [candidate for candidate, _ in listed]
    blind = replay.blind_trials(len(table.rows), len(table.good(tolerance)))
    return blind / replay.first_good(order, table, tolerance)


def _full_peers(table: Table, tables: Sequence[Table]) -> list[Peer]:
    """The whole tables of the other families: more than any history, for strong baselines."""
    history = [
        experience
        for other in tables
        if other.family != table.family
        for experience in other.experience([row.candidate for row in other.rows])
    ]
    return peers_of(replay.problem(table, 0, history))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=Path, default=FOLDER)
    parser.add_argument("--synthetic", action="store_true", help="made-up tables: no real figures")
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--quick", action="store_true", help="does it run? no figures to quote")
    options = parser.parse_args()
    if options.quick:
        options.seeds = 2
    return options


if __name__ == "__main__":
    main()
