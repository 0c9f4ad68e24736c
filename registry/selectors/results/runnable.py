"""Whether the network of a revision can be run; if not, why, and what its owner can do."""

from collections.abc import Collection
from dataclasses import dataclass

from registry.selectors.repository.contents import marking_paths
from registry.selectors.results.conversion import CONVERTER_CODES, is_convertible
from registry.states import FailureClass, JobKind, JobState, RepositoryKind
from registry.tables import Build, Graph, Job, Revision

_OPEN = frozenset({JobState.QUEUED, JobState.LEASED})
_EXPORT = "Export the network to ONNX or TensorFlow Lite and publish that file, as model.onnx."


@dataclass(frozen=True, slots=True)
class NotRunnable:
    """Why nobody can load a revision's network.

    Attributes:
        code: One of ``registry.errors.CODES``.
        reason: One or two sentences for people.
        remedy: The next step of the owner, in one sentence.
        may_change: Whether another inspection of the same files may have another result.
    """

    code: str
    reason: str
    remedy: str
    may_change: bool = False

    def __str__(self) -> str:
        return f"{self.reason} {self.remedy}"


def not_runnable(revision: Revision) -> NotRunnable | None:
    """Why a model's revision cannot be run; ``None`` if it can, if its inspection has not ended,
    and for data sets. ``revision`` has its MLModel."""
    if revision.mlmodel.kind != RepositoryKind.MODEL:
        return None
    return all_not_runnable([revision.pk]).get(revision.pk)


def may_inspect_again(revision: Revision, fault: NotRunnable | None) -> bool:
    """Whether another inspection of a revision may remove its fault."""
    if fault is None or fault.may_change:
        return fault is not None
    # Published before the hub converted.
    is_unknown = fault.code == _NO_NETWORK.code
    return is_unknown and is_convertible(revision, marking_paths(revision, revision.mlmodel.kind))


def all_not_runnable(revisions: Collection[int]) -> dict[int, NotRunnable]:
    """For lists: key of a revision to the reason why it cannot be run, in three queries.

    ``revisions`` are keys of revisions of models. Those that can be run, or whose inspection has
    not ended, are left out.
    """
    published = Build.objects.filter(graph__revision__in=revisions, withdrawn_at=None)
    graphs = Graph.objects.filter(revision__in=revisions, is_primary=True)
    # A published build has run, whatever a later inspection says.
    built = set(published.values_list("graph__revision", flat=True))
    inspected = set(graphs.values_list("revision", flat=True))
    jobs = _newest_inspections(revisions)
    faults: dict[int, NotRunnable] = {}
    for revision in set(revisions) - built:
        fault = _fault(jobs.get(revision), has_graph=revision in inspected)
        if fault is not None:
            faults[revision] = fault
    return faults


def _newest_inspections(revisions: Collection[int]) -> dict[int, Job]:
    """Key of a revision to its newest inspection."""
    rows = Job.objects.filter(revision__in=revisions, kind=JobKind.INSPECT).order_by("id")
    columns = ("revision", "state", "failure_class", "failure_code", "failure_detail")
    return {job.revision_id: job for job in rows.only(*columns)}


def _fault(job: Job | None, *, has_graph: bool) -> NotRunnable | None:
    if job is None:
        return None if has_graph else _NO_NETWORK
    if job.state in _OPEN or (job.state != JobState.FAILED and has_graph):
        return None
    if job.state != JobState.FAILED:
        return _NOT_INSPECTED
    remedy = _REMEDIES.get(job.failure_code, "Correct the file and publish it again.")
    is_hubs_fault = job.failure_class == FailureClass.INFRASTRUCTURE
    if is_hubs_fault:
        remedy = "The hub is at fault: let the files be inspected again, or tell its operators."
    may_change = is_hubs_fault or job.failure_code in _CHANGEABLE
    return NotRunnable(job.failure_code, job.failure_detail, remedy, may_change)


_NO_NETWORK = NotRunnable(
    "no_model_file",
    "The hub cannot run this model: it has no ONNX or TensorFlow Lite file, nor a config.json of "
    "transformers with safetensors.",
    _EXPORT,
)
#: What helps after the failures of conversions.
_REMEDIES = {
    **dict.fromkeys(
        (
            *("not_convertible", "conversion_failed", "conversion_differs"),
            *("weights_too_large", "job_out_of_memory"),
        ),
        _EXPORT,
    ),
    "converter_missing": "Without it, export the network to ONNX and publish that file, as "
    "model.onnx.",
}
_NOT_INSPECTED = NotRunnable(
    "graph_not_found",
    "The inspection of its files was cancelled.",
    "Let the files be inspected again.",
    may_change=True,
)
#: Failures that depend on the converter, its tools, or the memory and the time of workers.
_CHANGEABLE = CONVERTER_CODES | {"weights_too_large", "job_out_of_memory", "job_timeout"}
