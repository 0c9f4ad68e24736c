"""Reads of trials."""

from collections import Counter
from collections.abc import Collection
from statistics import fmean
from typing import Any

from django.db.models import F, QuerySet

from registry.errors import NotFound
from registry.ids import parse_uuid
from registry.selectors.access import Actor, readable_trials
from registry.selectors.results.graph import graph_of
from registry.selectors.work.target import emulated_targets
from registry.states import TrialOutcome
from registry.tables import Graph, Job, Trial

#: Columns of a trial, as ``trial_add`` takes them and the engine reads them.
TRIAL_COLUMNS = (
    "search_key", "number", "config_sha256", "candidate", "proposed_by", "predicted_ratio",
    "outcome", "failure_detail", "tolerance", "ratio", "ratio_low", "ratio_high", "p50_ns",
    "deviation", "accuracy", "measurement", "compile_s", "duration_s",
)  # fmt: skip

#: Upper bound on trials of earlier searches of the same key; the newest are read.
_HISTORY_DEPTH = 2000
#: Upper bounds on trials of other keys: of the target, of other targets, and of one network, so
#: that a network that is tuned every night does not displace all others.
_EXPERIENCE_DEPTH, _ELSEWHERE_DEPTH, _PER_NETWORK = 5000, 1000, 200


def trial_get(actor: Actor, uuid: str) -> Trial:
    """The readable trial of that UUID. Raises ``NotFound``: ``trial_not_found``."""
    rows = readable_trials(actor).select_related("job__revision__mlmodel__namespace", "target")
    trial = rows.filter(uuid=parse_uuid(uuid)).first()
    if trial is None:
        raise NotFound("trial_not_found", f"There is no trial {uuid[:64]!r}.")
    return trial


def trials_of_job(job_uuid: str) -> list[dict[str, Any]]:
    """Stored trials of a job by number, as ``trial_add`` takes them."""
    rows = Trial.objects.filter(job__uuid=parse_uuid(job_uuid)).order_by("number")
    return list(rows.values(*TRIAL_COLUMNS))


def history(search_key: str, job: Job) -> list[dict[str, Any]]:
    """``{"candidate", "ratio", "tolerance"}`` of candidates that other jobs on the same network and
    target measured with the same key, by ratio.

    A candidate of several jobs has its mean ratio, because the lowest of several noisy values is
    biased. Disturbed measurements are left out.
    """
    rows = _undisturbed().filter(
        search_key=search_key,
        outcome=TrialOutcome.MEASURED,
        target=job.target_id,
        # Equal keys imply this, but the key comes from a device and is not trusted.
        job__revision__in=_same_network(job),
    )
    rows = rows.exclude(job=job)
    candidates: dict[str, dict[str, Any]] = {}
    ratios: dict[str, list[float]] = {}
    columns = ("config_sha256", "candidate", "tolerance", "ratio")
    newest = rows.order_by("-id").values_list(*columns)[:_HISTORY_DEPTH]
    for key, candidate, tolerance, ratio in newest:
        if ratio is not None:
            candidates.setdefault(key, {"candidate": candidate, "tolerance": tolerance})
            ratios.setdefault(key, []).append(ratio)
    means = [row | {"ratio": fmean(ratios[key])} for key, row in candidates.items()]
    return sorted(means, key=lambda row: row["ratio"])


def experience(search_key: str, job: Job) -> list[dict[str, Any]]:
    """The newest trials of other keys: of other networks, toolchains and targets.

    Those of the job's network come first, then those of its target. Failures of the
    infrastructure, disturbed measurements, other targets of emulated machines and networks without
    a stored graph are left out.

    Returns:
        ``{"candidate", "outcome", "tolerance", "ratio", "duration_s", "target", "features",
        "graph_hash", "architecture_class", "embedding"}`` for each, newest first within these
        groups.
    """
    rows = (
        _undisturbed()
        .exclude(outcome=TrialOutcome.INFRASTRUCTURE)
        .exclude(search_key=search_key)
        .order_by("-id")
        .values(
            "id", "candidate", "outcome", "tolerance", "ratio", "duration_s", "job__revision",
            slug=F("target__slug"), features=F("target__features"),
        )
    )  # fmt: skip
    here = rows.filter(target=job.target_id)[:_EXPERIENCE_DEPTH]
    elsewhere = rows.exclude(target=job.target_id)
    if emulated := emulated_targets():
        elsewhere = elsewhere.exclude(target__in=emulated)
    kin = elsewhere.filter(job__revision__in=_same_network(job))[:_ELSEWHERE_DEPTH]
    by_id = {row.pop("id"): row for row in map(dict, (*kin, *here, *elsewhere[:_ELSEWHERE_DEPTH]))}
    rows_read: list[dict[str, Any]] = list(by_id.values())
    networks = _networks({row["job__revision"] for row in rows_read})
    counts: Counter[tuple[str, str]] = Counter()
    trials = []
    for row in rows_read:
        network = networks.get(row.pop("job__revision"))
        row["target"] = row.pop("slug")
        if network is not None and counts[network["graph_hash"], row["target"]] < _PER_NETWORK:
            counts[network["graph_hash"], row["target"]] += 1
            trials.append(row | network)
    return trials


def _same_network(job: Job) -> QuerySet[Graph, int]:
    """Keys of the revisions whose primary network is that of the job's revision."""
    graph = graph_of(job.revision)
    same = Graph.objects.filter(graph_hash=graph.graph_hash if graph else "", is_primary=True)
    return same.values_list("revision", flat=True)


def _undisturbed() -> QuerySet[Trial]:
    return Trial.objects.filter(measurement__quality__disturbed__isnull=True)


def _networks(revisions: Collection[int]) -> dict[int, dict[str, Any]]:
    """Structure of the primary network of each revision."""
    graphs = Graph.objects.filter(revision__in=revisions, is_primary=True).order_by("-path")
    columns = ("revision", "graph_hash", "architecture_class", "embedding")
    return {graph.pop("revision"): graph for graph in graphs.values(*columns)}
