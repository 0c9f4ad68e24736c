"""Which traits fast schedules of an operator share: association in searches, effect in ablations.

Of each workload the fastest tenth of its schedules is compared with the rest (Fisher's exact test),
for all traits and workloads of the operator at once (Benjamini and Hochberg). An association alone
is weak: an evolutionary search derives later schedules from fast ones, so a trait may be frequent
only because an early fast schedule had it. A principle therefore also needs ablations, in which
only one decision differs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hpcfair.traits import TRAITS, Trait, holds
from registry.statistics.association import (
    false_discovery_rate,
    fastest,
    fisher_exact,
    log2_odds,
)
from registry.statistics.experience import METHOD, RevertedDecision, WorkloadTrials


@dataclass(frozen=True, slots=True)
class TraitFinding:
    """What is known about a trait of the schedules of an operator.

    ``is_wanted``: whether fast schedules have it or lack it. ``evidence`` is JSON.
    """

    trait: Trait
    is_wanted: bool
    evidence: dict[str, Any]

    @property
    def is_proven(self) -> bool:
        """Whether the evidence meets the conditions, and little contradicts it."""
        support, against = self.evidence["support"], self.evidence["against"]
        return bool(
            support["workloads"] >= METHOD["least_workloads"]
            and support["ablations"] >= METHOD["least_ablations"]
            and support["workloads"] > 2 * against["workloads"]
            and support["ablations"] > against["ablations"]
        )

    @property
    def is_contradicted(self) -> bool:
        """Whether at least as much evidence is against it as for it."""
        support, against = self.evidence["support"], self.evidence["against"]
        return any(
            against[each] and against[each] >= support[each] for each in ("workloads", "ablations")
        )


def findings(
    workloads: Sequence[WorkloadTrials], ablations: Sequence[RevertedDecision]
) -> list[TraitFinding]:
    """What the searches and ablations of an operator say about each trait.

    Traits about which nothing is known are left out: those without any evident association and
    without any ablation that changes them.
    """
    rows = _associations(workloads)
    result = []
    for trait in TRAITS:
        associated = rows.get(trait, [])
        effects = _effects(trait, ablations)
        sign = _majority(associated, effects)
        if sign is not None:
            result.append(_finding(trait, sign, associated, effects))
    return result


def _finding(
    trait: Trait,
    is_wanted: bool,  # noqa: FBT001
    associated: Sequence[Mapping[str, Any]],
    effects: Sequence[Mapping[str, Any]],
) -> TraitFinding:
    """The evidence for and against a statement."""
    tasks = [
        {**row, "direction": _direction(row["sign"], is_wanted) if row["is_evident"] else "none"}
        for row in associated
    ]
    reverted = [{**row, "direction": _direction(row["sign"], is_wanted)} for row in effects]
    for row in (*tasks, *reverted):
        del row["sign"]
    support, against = _counts(tasks, reverted, "for"), _counts(tasks, reverted, "against")
    evidence = {
        "workloads": tasks,
        "ablations": reverted,
        "support": support,
        "against": against,
        "effect": _effect(tasks, is_wanted),
        "missing": _missing(support, against),
    }
    return TraitFinding(trait, is_wanted, evidence)


def evidence_for(
    trait: Trait,
    workloads: Sequence[WorkloadTrials],
    ablations: Sequence[RevertedDecision],
    *,
    is_wanted: bool,
) -> TraitFinding:
    """The evidence for one statement, for or against it; used to repeat a frozen query."""
    associated = _associations(workloads).get(trait, [])
    return _finding(trait, is_wanted, associated, _effects(trait, ablations))


def _associations(workloads: Sequence[WorkloadTrials]) -> dict[Trait, list[dict[str, Any]]]:
    """Trait to its association in each workload that has enough trials with and without it."""
    counted: list[tuple[Trait, tuple[int, int, int, int], dict[str, Any]]] = []
    for workload in workloads:
        if len(workload.trials) < METHOD["least_trials"]:
            continue
        times = np.array([seconds for _, _, seconds in workload.trials])
        is_fast = fastest(times, METHOD["fast"])
        for trait in TRAITS:
            held = [holds(trait, sketch, decisions) for sketch, decisions, _ in workload.trials]
            says = np.array([each is not None for each in held])
            has = np.array([each is True for each in held])
            if not has.any() or not (says & ~has).any():
                continue
            table = (
                int((has & is_fast).sum()), int((says & is_fast).sum()),
                int((has & ~is_fast).sum()), int((says & ~is_fast).sum()),
            )  # fmt: skip
            if not table[1] or not table[3]:
                continue
            with_s, without_s = np.median(times[has]), np.median(times[says & ~has])
            about = {
                "workload": workload.workload, "key": workload.key, "name": workload.name,
                "target": workload.target, "n": int(says.sum()),
                "median_with_s": float(with_s), "median_without_s": float(without_s),
            }  # fmt: skip
            counted.append((trait, table, about))
    if not counted:
        return {}
    tables = np.array([table for _, table, _ in counted], dtype=np.int64).T
    p = fisher_exact(*tables)
    q = false_discovery_rate(p)
    odds = log2_odds(*tables)
    rows: dict[Trait, list[dict[str, Any]]] = {}
    for at, (trait, (fast_with, fast, rest_with, rest), about) in enumerate(counted):
        rows.setdefault(trait, []).append(
            about | {
                "fast_with": fast_with, "fast": fast, "rest_with": rest_with, "rest": rest,
                "log2_odds": float(odds[at]), "p": float(p[at]), "q": float(q[at]),
                "is_evident": bool(q[at] < METHOD["q"]), "sign": bool(odds[at] > 0),
            }
        )  # fmt: skip
    return rows


def _effects(trait: Trait, ablations: Iterable[RevertedDecision]) -> list[dict[str, Any]]:
    """The ablations that change a trait; ``sign``: whether schedules are faster with it."""
    rows = []
    for each in ablations:
        before = holds(trait, each.sketch, each.best)
        after = holds(trait, each.sketch, each.variant)
        if before is None or after is None or before == after:
            continue
        rows.append({
            "ablation": each.ablation, "workload": each.workload, "key": each.key,
            "name": each.name,
            "ratio": each.ratio, "ratio_low": each.low, "ratio_high": each.high,
            "best_has_it": before, "sign": before == each.is_slower,
        })  # fmt: skip
    return rows


def _majority(
    associated: Sequence[Mapping[str, Any]], effects: Sequence[Mapping[str, Any]]
) -> bool | None:
    signs = [row["sign"] for row in associated if row["is_evident"]]
    signs = signs or [row["sign"] for row in effects]
    return sum(signs) * 2 >= len(signs) if signs else None


def _direction(sign: bool, is_wanted: bool) -> str:  # noqa: FBT001
    return "for" if sign == is_wanted else "against"


def _counts(
    tasks: Sequence[Mapping[str, Any]], reverted: Sequence[Mapping[str, Any]], direction: str
) -> dict[str, int]:
    chosen = [row for row in tasks if row["direction"] == direction]
    return {
        "workloads": len({row["key"] for row in chosen}),
        "targets": len({row["target"] for row in chosen}),
        "trials": sum(row["n"] for row in chosen),
        "ablations": len({row["key"] for row in reverted if row["direction"] == direction}),
    }


def _effect(
    tasks: Sequence[Mapping[str, Any]],
    is_wanted: bool,  # noqa: FBT001
) -> dict[str, float] | None:
    """Medians over the workloads that support it: shares of schedules with the trait among the fast
    and the others, and times of schedules against the principle over times of those that follow."""
    chosen = [row for row in tasks if row["direction"] == "for"]
    if not chosen:
        return None
    ratios = [row["median_without_s"] / row["median_with_s"] for row in chosen]
    return {
        "fast_share": float(np.median([row["fast_with"] / row["fast"] for row in chosen])),
        "rest_share": float(np.median([row["rest_with"] / row["rest"] for row in chosen])),
        "ratio": float(np.median(ratios if is_wanted else [1 / ratio for ratio in ratios])),
    }


def _missing(support: Mapping[str, int], against: Mapping[str, int]) -> list[str]:
    missing = []
    for name, words in (("workloads", "workload"), ("ablations", "ablation")):
        lacks = METHOD[f"least_{name}"] - support[name]
        if lacks > 0:
            missing.append(f"{lacks} more {words}{'s' * (lacks > 1)}")
    if against["workloads"] * 2 >= max(1, support["workloads"]):
        missing.append(f"{against['workloads']} workloads show the opposite")
    if against["ablations"] and against["ablations"] >= support["ablations"]:
        missing.append(f"{against['ablations']} ablations show the opposite")
    return missing
