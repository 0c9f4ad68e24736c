"""Reads of candidates that were tried."""

from collections import Counter
from collections.abc import Collection
from statistics import fmean
from typing import Any

from django.db.models import F, QuerySet

from registry.errors import NotFound
from registry.ids import parse_uuid
from registry.selectors.access import Actor, readable_trials
from registry.states import TrialOutcome
from registry.tables import Graph, Trial

#: What a trial is made of, as ``trial_add`` takes it and the engine reads it again.
TRIAL_COLUMNS = (
    "search_key", "number", "config_sha256", "candidate", "proposed_by", "predicted_ratio",
    "outcome", "failure_detail", "tolerance", "ratio", "ratio_low", "ratio_high", "p50_ns",
    "deviation", "accuracy", "measurement", "compile_s", "duration_s",
)  # fmt: skip

#: Newest trials looked at for what earlier searches found.
_HISTORY_DEPTH = 2000
#: Newest trials of other keys that a search learns from: of its target, and of all others. What one
#: network may contribute is bounded, so that one tuned every night does not push out the rest.
_EXPERIENCE_DEPTH, _ELSEWHERE_DEPTH, _PER_NETWORK = 5000, 1000, 200


def trial_get(actor: Actor, uuid: str) -> Trial:
    """The trial of that UUID.

    Raises:
        NotFound: ``trial_not_found``, also for a trial the actor may not know of.
    """
    rows = readable_trials(actor).select_related("job__revision__mlmodel__namespace", "target")
    trial = rows.filter(uuid=parse_uuid(uuid)).first()
    if trial is None:
        raise NotFound("trial_not_found", f"There is no trial {uuid[:64]!r}.")
    return trial


def trials_of_job(job_uuid: str) -> list[dict[str, Any]]:
    """The trials a job has already paid for, by number, as ``trial_add`` took them."""
    rows = Trial.objects.filter(job__uuid=parse_uuid(job_uuid)).order_by("number")
    return list(rows.values(*TRIAL_COLUMNS))


def history(search_key: str, exclude_job: str | None = None) -> list[dict[str, Any]]:
    """What earlier searches of the same key measured, best first.

    A candidate measured by several jobs comes once, with its mean ratio: the lowest of several
    noisy figures would flatter it. What others on the machine disturbed teaches nothing.

    Returns:
        ``{"candidate", "ratio", "tolerance"}`` for each.
    """
    rows = _undisturbed().filter(search_key=search_key, outcome=TrialOutcome.MEASURED)
    if exclude_job:
        rows = rows.exclude(job__uuid=parse_uuid(exclude_job))
    found: dict[str, dict[str, Any]] = {}
    ratios: dict[str, list[float]] = {}
    columns = ("config_sha256", "candidate", "tolerance", "ratio")
    newest = rows.order_by("-id").values_list(*columns)[:_HISTORY_DEPTH]
    for key, candidate, tolerance, ratio in newest:
        if ratio is not None:
            found.setdefault(key, {"candidate": candidate, "tolerance": tolerance})
            ratios.setdefault(key, []).append(ratio)
    means = [row | {"ratio": fmean(ratios[key])} for key, row in found.items()]
    return sorted(means, key=lambda row: row["ratio"])


def experience(search_key: str, target: str) -> list[dict[str, Any]]:
    """What the newest searches of other keys found: of other networks, toolchains and targets.

    What failed by the machine's fault is left out, what others on it disturbed, and networks whose
    structure the hub does not know any more.

    Args:
        target: Slug of the target searched for; its trials come first.

    Returns:
        ``{"candidate", "outcome", "tolerance", "ratio", "duration_s", "target", "features",
        "graph_hash", "architecture_class", "embedding"}`` for each, newest first.
    """
    rows = (
        _undisturbed()
        .exclude(outcome=TrialOutcome.INFRASTRUCTURE)
        .exclude(search_key=search_key)
        .order_by("-id")
        .values(
            "candidate", "outcome", "tolerance", "ratio", "duration_s", "job__revision",
            slug=F("target__slug"), features=F("target__features"),
        )
    )  # fmt: skip
    here = rows.filter(target__slug=target)[:_EXPERIENCE_DEPTH]
    elsewhere = rows.exclude(target__slug=target)[:_ELSEWHERE_DEPTH]
    found: list[dict[str, Any]] = [dict(row) for row in (*here, *elsewhere)]
    networks = _networks({row["job__revision"] for row in found})
    taken: Counter[tuple[str, str]] = Counter()
    kept = []
    for row in found:
        network = networks.get(row.pop("job__revision"))
        row["target"] = row.pop("slug")
        if network is not None and taken[network["graph_hash"], row["target"]] < _PER_NETWORK:
            taken[network["graph_hash"], row["target"]] += 1
            kept.append(row | network)
    return kept


def _undisturbed() -> QuerySet[Trial]:
    return Trial.objects.filter(measurement__quality__disturbed__isnull=True)


def _networks(revisions: Collection[int]) -> dict[int, dict[str, Any]]:
    """Structure of the primary network of each revision."""
    graphs = Graph.objects.filter(revision__in=revisions, is_primary=True).order_by("-path")
    columns = ("revision", "graph_hash", "architecture_class", "embedding")
    return {graph.pop("revision"): graph for graph in graphs.values(*columns)}
