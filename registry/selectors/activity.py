"""What was done with a version, as its record tells it: who or what, with which tools, from what.

Each activity is named by the page that shows it; where that page is the thing that was made, by a
fragment of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from django.conf import settings

from registry.fair.addresses import Place, build_url, job_url, record_url
from registry.fair.parts import Activity, ActivityKind, Agent, Derivation, Software
from registry.selectors.built import Built, Option, options_of, tools_of
from registry.selectors.naming import Names
from registry.states import JobKind, JobState, ToleranceClass
from registry.tables import Job, MLModel, Reproduction, Revision

_KINDS: dict[str, ActivityKind] = {
    ToleranceClass.EXACT: "compile",
    ToleranceClass.FP16: "convert",
    ToleranceClass.BF16: "convert",
    ToleranceClass.INT8: "quantise",
}
#: How networks end that runtimes read as they read the published one. All else is machine code.
_FORMATS = frozenset({".onnx", ".ort", ".xml", ".tflite"})
_DOING = {"compile": "Compile", "convert": "Convert", "quantise": "Quantise"}
#: Of a record's environment: what is one value and of use to whoever wants the same.
_CIRCUMSTANCES = ("os", "kernel", "python", "sandbox", "governor", "virtualisation")
#: Of a search's parameters and result.
_SEARCH = ("seed", "strategy", "backends", "trials", "ended")


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What is known of a version that something was done with.

    Attributes:
        revision: With its MLModel and namespace.
        sources: What it was made from, as records name it.
        people: Key of a user to the agent.
        inspection: The newest one that succeeded.
    """

    revision: Revision
    place: Place
    names: Names
    sources: Sequence[Derivation]
    people: Mapping[int | None, Agent]
    inspection: Job | None
    builds: Sequence[Built]


def inspections_of(revisions: Sequence[int]) -> dict[int, Job]:
    """For lists: key of a revision to its newest inspection that succeeded."""
    rows = Job.objects.filter(
        revision__in=revisions, kind=JobKind.INSPECT, state=JobState.SUCCEEDED
    )
    return {job.revision_id: job for job in rows.order_by("pk")}


def people_in(revision: Revision, builds: Sequence[Built]) -> set[int | None]:
    """Keys of the users that :func:`activities_of` will name."""
    jobs = (built.row.job for built in builds)
    asked = {job.requested_by_id for job in jobs if job is not None}
    return {revision.author_id, revision.mlmodel.created_by_id, *asked} - {None}


def activities_of(done: Done) -> tuple[Activity, ...]:
    """All that was done, in the order in which it ended."""
    found = [
        _publish(done),
        *_fork(done),
        *_inspect(done),
        *_tune(done),
        *(_make(done, built) for built in done.builds if not built.described.is_baseline),
        *(_measure(built) for built in done.builds),
        *_reproduce(done),
    ]
    return tuple(sorted(found, key=lambda one: (one.ended, one.url)))


def _publish(done: Done) -> Activity:
    revision = done.revision
    return Activity(
        url=done.place.commit(revision.oid),
        kind="publish",
        title=f"Publish {done.names.tag or revision.oid[:10]}",
        ended=revision.created_at,
        agent=done.people.get(revision.author_id),
        used=_addresses(one for one in done.sources if one.relation != "fork"),
        generated=(done.names.pid,),
    )


def _fork(done: Done) -> list[Activity]:
    sources = [one for one in done.sources if one.relation == "fork"]
    if not sources:
        return []
    mlmodel: MLModel = done.revision.mlmodel
    return [
        Activity(
            url=f"{done.place.concept}#fork",
            kind="fork",
            title=f"Fork {sources[0].source}",
            ended=mlmodel.created_at,
            agent=done.people.get(mlmodel.created_by_id),
            used=_addresses(sources),
            generated=(done.names.concept_pid,),
        )
    ]


def _inspect(done: Done) -> list[Activity]:
    job = done.inspection
    if job is None or job.ended_at is None:
        return []
    return [
        Activity(
            url=job_url(settings.HUB_URL, job.uuid),
            kind="inspect",
            title="Inspect",
            started=job.started_at,
            ended=job.ended_at,
            used=(done.names.pid,),
            tools=tools_of(job.result.get("tools", {})),
        )
    ]


def _tune(done: Done) -> list[Activity]:
    """One for each search that left builds."""
    searches: dict[int, tuple[Job, list[Built]]] = {}
    for built in done.builds:
        job = built.row.job
        if job is not None and job.ended_at is not None:
            searches.setdefault(job.pk, (job, []))[1].append(built)
    return [_search(done, job, builds) for job, builds in searches.values()]


def _search(done: Done, job: Job, builds: list[Built]) -> Activity:
    tools: dict[Software, None] = {}
    for built in builds:
        tools |= dict.fromkeys((*tools_of(built.measured.tools), *built.described.tools))
    target = builds[0].described.target
    known = job.parameters | job.result
    return Activity(
        url=job_url(settings.HUB_URL, job.uuid),
        kind="tune",
        title=f"Tune for {target}",
        started=job.started_at,
        ended=job.ended_at or builds[0].described.created,
        agent=done.people.get(job.requested_by_id),
        used=(done.names.pid,),
        generated=tuple(built.described.url for built in builds),
        tools=tuple(tools),
        hardware=target,
        parameters=options_of({key: known[key] for key in _SEARCH if key in known}),
    )


def _make(done: Done, built: Built) -> Activity:
    made, job = built.described, built.row.job
    kind = _kind(built)
    # When it began is in no row: of a search, only its own beginning is known.
    return Activity(
        url=f"{made.url}#making",
        kind=kind,
        title=f"{_DOING[kind]} for {made.target} with {made.backend}",
        ended=made.created,
        agent=done.people.get(job.requested_by_id) if job is not None else None,
        used=(done.names.pid,),
        generated=(made.url,),
        tools=made.tools,
        hardware=made.target,
        parameters=made.options,
    )


def _kind(built: Built) -> ActivityKind:
    """What was done: lower precision counts first, then another format."""
    kind = _KINDS[built.described.tolerance]
    form = PurePosixPath(built.described.entry_point).suffix
    is_other = form in _FORMATS and form != PurePosixPath(built.row.graph.path).suffix
    return "convert" if kind == "compile" and is_other else kind


def _measure(built: Built) -> Activity:
    made, environment = built.described, built.measured.environment
    known: dict[str, Option | None] = {
        name: environment.get(name) for name in _CIRCUMSTANCES if environment.get(name)
    }
    packages = environment.get("packages")
    return Activity(
        url=f"{record_url(settings.HUB_URL, made.benchmark.id)}#measuring",
        kind="benchmark",
        title=f"Measure on {made.target} with {made.backend}",
        ended=built.row.record.created_at,
        used=(made.url,),
        generated=(made.benchmark.url,),
        tools=tools_of(packages if isinstance(packages, dict) else {}),
        hardware=made.target,
        parameters=options_of(known | {"processor": made.processor}),
    )


def _reproduce(done: Done) -> list[Activity]:
    """One for each job that last ran some of the builds again."""
    runs: dict[str, list[tuple[Built, Reproduction]]] = {}
    for built in done.builds:
        again = built.reproduction
        if again is not None:
            job = again.job
            url = (
                job_url(settings.HUB_URL, job.uuid)
                if job is not None
                else f"{build_url(settings.HUB_URL, built.row.uuid)}#reproducing"
            )
            runs.setdefault(url, []).append((built, again))
    return [_run(url, again) for url, again in runs.items()]


def _run(url: str, run: list[tuple[Built, Reproduction]]) -> Activity:
    tools: dict[str, str] = {}
    for _, again in run:
        tools |= again.tools
    target = run[0][0].described.target
    return Activity(
        url=url,
        kind="reproduce",
        title=f"Reproduce on {target}",
        ended=max(again.created_at for _, again in run),
        used=tuple(built.described.url for built, _ in run),
        tools=tools_of(tools),
        hardware=target,
        parameters={f"build {built.described.uuid}": str(again.outcome) for built, again in run},
    )


def _addresses(sources: Iterable[Derivation]) -> tuple[str, ...]:
    return tuple(url for one in sources if (url := one.pid or one.url))
