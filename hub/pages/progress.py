"""What a job is doing now, in words: phase, seconds of its budget, time left, what is tried."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from hub.pages.speedwords import speed
from registry.selectors.work.job import best_trials, newest_jobs, open_jobs
from registry.selectors.work.queue import Wait, waits_of
from registry.states import JobKind, JobState
from registry.tables import Job, Revision, Trial
from registry.transitions import JOB_ENDED

_PHASES = {
    "fetch": "Copying the model",
    "reference": "Measuring the default",
    "search": "Searching configurations",
    "confirmation": "Confirming the best candidates in fresh processes",
    "offline": "Measuring the throughput of many samples",
    "multi-stream": "Measuring queries of eight samples",
    "publish": "Publishing",
    "profile": "Profiling the best builds",
    "roofs": "Measuring the peak speeds of the device",
    "workloads": "Extracting the operator workloads",
    "schedules": "Searching schedules",
    "measure": "Searching schedules",
    "descent": "Refining the best schedules",
    "ablation": "Reverting decisions of the schedule",
    "cross-application": "Measuring schedules of other targets",
    "passes": "Studying compiler passes",
    "convert": "Converting the weights to ONNX",
    "inspect": "Reading the network",
    "tests": "Preparing test tensors",
    "reproduce": "Running builds again",
    "assess": "Assessing the record",
    "draft": "Registering the DOI",
    "import": "Fetching the files",
    "read": "Reading the tables",
    "inputs": "Reading the inputs",
    "run": "Running the build",
    "time": "Timing the build",
    "compare": "Comparing the outputs with the reference",
    "store": "Storing the outputs",
}
#: What follows a phase that has a budget.
_NEXT = {"search": "then the best candidates are confirmed"}
#: Phases whose message names a candidate.
_WITH_CANDIDATE = frozenset({"search", "confirmation"})
#: Phases whose steps are bytes.
_IN_BYTES = frozenset({"import"})
_KINDS = {
    JobKind.INSPECT: "Inspection",
    JobKind.TABLES: "Reading of tables",
    JobKind.IMPORT: "Import",
    JobKind.TUNE: "Tuning",
    JobKind.SCHEDULE: "Schedule search",
    JobKind.ABLATE: "Ablation",
    JobKind.CROSS: "Cross-application",
    JobKind.PASSES: "Pass study",
    JobKind.REPRODUCE: "Reproduction",
    JobKind.DOI: "DOI",
    JobKind.ASSESS: "Assessment",
    JobKind.RUN: "Run",
}


@dataclass(frozen=True, slots=True)
class JobProgress:
    """A running job.

    Attributes:
        phase: What it does, for people.
        now: What is tried now, in words; "" if unknown.
        used, budget: Seconds of the phase until now and its budget; or steps, if they are counted.
        unit: ``s``, ``MB`` or ``""``.
        left: The time that is left, and what follows; "" if unknown.
    """

    phase: str
    now: str
    used: float | None = None
    budget: float | None = None
    unit: str = ""
    left: str = ""


@dataclass(frozen=True, slots=True)
class JobLine:
    """A job in a summary: its title, and the phase if it runs, the wait if it is queued, or the
    best trial so far if it searches."""

    job: Job
    title: str
    progress: JobProgress | None
    wait: Wait | None
    best: str


@dataclass(frozen=True, slots=True)
class JobSummary:
    """The jobs of a revision.

    Attributes:
        open: Jobs that run or wait, the oldest first.
        failed: Jobs that failed and were not repeated since, without imports: pages show what
            became of the import of a model apart.
        succeeded: Number of the other newest jobs of each kind and target that succeeded.
    """

    open: list[JobLine]
    failed: list[JobLine]
    succeeded: int

    @property
    def is_empty(self) -> bool:
        return not (self.open or self.failed or self.succeeded)


def progress_of(job: Job, now: datetime | None = None) -> JobProgress | None:
    """What a running job does; ``None`` for a job that does not run."""
    if job.state != JobState.LEASED:
        return None
    report = job.progress
    name = str(report.get("phase") or "")
    if not name:
        return JobProgress("Starting", "")
    phase, message = _PHASES.get(name, name), str(report.get("message") or "")
    words = in_words(message) if name in _WITH_CANDIDATE else message
    budget_s, used_s = report.get("budget_s"), report.get("used_s")
    if budget_s and used_s is not None:
        age_s = 0.0
        if reported := report.get("at"):
            at = datetime.fromisoformat(reported)
            age_s = max(0.0, ((now or timezone.now()) - at).total_seconds())
        used_s = min(used_s + age_s, budget_s)
        return JobProgress(phase, words, used_s, budget_s, "s", _left(name, budget_s - used_s))
    if total := report.get("total"):
        done = report.get("done") or 0
        if name in _IN_BYTES:
            return JobProgress(phase, words, done / 1e6, max(total / 1e6, 1.0), "MB")
        return JobProgress(phase, words, done, total)
    return JobProgress(phase, words)


def in_words(candidate: str) -> str:
    """``openvino precision=int8 tuned=True`` -> ``openvino with precision int8, tuned``."""
    backend, *options = candidate.split(" ")
    if not options or not all("=" in option for option in options):
        return candidate
    # A mark of the tuner: whether it is the runtime as it comes, with nothing set.
    chosen = [option for option in options if option != "default=False"]
    if chosen == ["default=True"]:
        return f"{backend} with nothing set"
    return f"{backend} with {', '.join(_option_in_words(option) for option in chosen)}"


def gain_so_far(trial: Trial | None) -> str:
    """The gain of the best trial of a search that is proved faster than the default."""
    if trial is None or not trial.ratio:
        return ""
    return speed(trial.ratio)


def title_of(job: Job) -> str:
    """``Tuning for x86-64-avx512``; of a search whose results were inconclusive, ``Measuring
    again``."""
    kind = _KINDS.get(JobKind(job.kind), job.kind)
    if job.parameters.get("repeats"):
        kind = "Measuring again"
    return f"{kind} for {job.target.slug}" if job.target else kind


def summary_of(revision: Revision) -> JobSummary:
    """The jobs of a revision in one line; four queries."""
    newest = newest_jobs(revision)
    running = list(open_jobs(revision))
    best, waits = best_trials(running), waits_of(running)
    return JobSummary(
        open=[_line(job, waits.get(job.pk), best.get(job.pk)) for job in running],
        failed=[
            _line(job, None, None)
            for job in newest
            if job.state == JobState.FAILED and job.kind != JobKind.IMPORT
        ],
        succeeded=sum(job.state == JobState.SUCCEEDED for job in newest),
    )


def inspection_of(revision: Revision) -> JobLine | None:
    """The inspection of a revision that runs or waits."""
    job = open_jobs(revision).filter(kind=JobKind.INSPECT).first()
    return _line(job, None, None) if job else None


def announcement(job: Job, best: Trial | None) -> str:
    """What changed, for screen readers."""
    progress = progress_of(job)
    if job.state in JOB_ENDED or progress is None:
        return f"The job is {job.state}."
    gain = gain_so_far(best)
    return f"{progress.phase}." + (f" Best so far: {gain}." if gain else "")


def _line(job: Job, wait: Wait | None, best: Trial | None) -> JobLine:
    return JobLine(job, title_of(job), progress_of(job), wait, gain_so_far(best))


def _left(phase: str, seconds: float) -> str:
    if seconds < 1:
        return "ends with what is tried now"
    time = f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
    parts: Sequence[str] = [f"about {time} left", *([_NEXT[phase]] if phase in _NEXT else [])]
    return ", ".join(parts)


def _option_in_words(option: str) -> str:
    name, _, value = option.partition("=")
    name = name.replace("_", " ")
    if value in {"True", "False"}:
        return name if value == "True" else f"no {name}"
    return f"{name} {value}"
