"""Activities of the hub: searches, builds, measurements and reproductions.

An activity is identified by the page that shows it, or by a fragment of the page of its product.
"""

from dataclasses import replace

from django.conf import settings

from hpcfair.formats import FORMATS, TORCH_EXPORT
from hpcfair.precisions import PRECISION_OF, PRECISIONS
from registry.fair.activities import Activity, ActivityKind, Benchmark, Environment
from registry.fair.addresses import build_url, job_url, record_url
from registry.selectors.fair.description.builds import DescribedBuild, benchmark_of
from registry.selectors.fair.description.history import ActivityInputs, is_repetition
from registry.selectors.fair.description.measurements import (
    environment_of,
    mapping,
    options_of,
    protocol_of,
    tools_of,
)
from registry.states import JobKind
from registry.tables import Build, Job, Record, Reproduction

#: Formats that hold a network; every other entry point is compiled code, and so is a ``.pt2`` file
#: that Inductor wrote.
_CONVERTED = tuple(
    each for each in FORMATS if each.contents == "network" and each is not TORCH_EXPORT
)
_BUILD_TITLES = {"compile": "Compile", "convert": "Convert", "quantise": "Quantise"}
_SEARCH_TITLES: dict[str, str] = {
    JobKind.TUNE: "Tune",
    JobKind.SCHEDULE: "Search schedules of operators",
    JobKind.PASSES: "Study compiler passes",
}
#: Parameters and results of a search that its activity lists; the seed has a field of its own.
_SEARCH_PARAMETERS = ("strategy", "backends", "budget_s", "trials", "improved", "ended")
#: Steps that fit a build to sample inputs; the provenance of each names the source of these.
_FITTINGS = ("calibration", "bias_correction", "weight_rounding")
_BUILD_PARAMETERS = (*_FITTINGS, "converter", "compile_s")
_SAMPLES = "samples.npz"


def search_activities(inputs: ActivityInputs) -> list[Activity]:
    """One for each search, whether or not a build is left of it."""
    builds: dict[int, list[Build]] = {}
    jobs = {job.pk: job for job in inputs.history.searches}
    for row in inputs.build_rows:
        if row.job is not None:
            builds.setdefault(row.job.pk, []).append(row)
            jobs.setdefault(row.job.pk, row.job)
    records: dict[int, list[Record]] = {}
    for record in inputs.records.values():
        if record.job_id is not None:
            records.setdefault(record.job_id, []).append(record)
    return [
        _search(inputs, job, builds.get(pk, []), records.get(pk, []))
        for pk, job in jobs.items()
        if job.ended_at
    ]


def build_activities(inputs: ActivityInputs) -> list[Activity]:
    """One for each build except baselines, which run the published network itself."""
    return [_build(inputs, row) for row in inputs.build_rows if not row.is_baseline]


def measurement_activities(inputs: ActivityInputs) -> list[Activity]:
    """One for each record, with or without a build."""
    builds = {row.record_id: row for row in reversed(inputs.build_rows)}
    return [_measurement(inputs, one, builds.get(pk)) for pk, one in inputs.records.items()]


def reproduction_activities(inputs: ActivityInputs) -> list[Activity]:
    """One for each job in which some builds were last run again."""
    runs: dict[str, list[tuple[DescribedBuild, Reproduction]]] = {}
    for build in inputs.builds:
        reproduction = build.reproduction
        if reproduction is not None:
            job = reproduction.job
            url = _job_url(job) if job is not None else f"{_url(build.row)}#reproducing"
            runs.setdefault(url, []).append((build, reproduction))
    return [_reproduction(inputs, url, run) for url, run in runs.items()]


def repetitions_of(inputs: ActivityInputs) -> tuple[Benchmark, ...]:
    """Measurements by users who repeated what the hub had measured."""
    repetitions = []
    for record in inputs.history.records:
        if is_repetition(record):
            details = inputs.measurements.of(record)
            repetitions.append(
                replace(
                    benchmark_of(record, details, record.backend),
                    by="third party",
                    target=record.target.slug,
                    backend=record.backend,
                    reproduces=details.provenance.get("reproduces"),
                )
            )
    return tuple(repetitions)


def _search(
    inputs: ActivityInputs, job: Job, builds: list[Build], records: list[Record]
) -> Activity:
    tools = dict.fromkeys(tools_of(mapping(job.result.get("tools"))))
    seed = job.parameters.get("seed")
    environment, strategy = _device_of(job), None
    for row in builds:
        tools |= dict.fromkeys(tools_of(mapping(row.provenance.get("toolchain"))))
        record = inputs.records.get(row.record_id)
        if record is not None:
            details = inputs.measurements.of(record)
            tools |= dict.fromkeys(tools_of(details.tools))
            seed = details.seed if seed is None else seed
            strategy = details.search.get("strategy", strategy)
            measured_in = environment_of(details)
            environment = Environment(facts=measured_in.facts) if measured_in else environment
    # A search that proved no build faster publishes none: its measurements name its tools.
    for record in records:
        tools |= dict.fromkeys(tools_of(inputs.measurements.of(record).tools))
    values = {"strategy": strategy} | job.parameters | job.result
    target = job.target.slug if job.target else None
    return Activity(
        url=_job_url(job),
        kind="tune",
        title=f"{_SEARCH_TITLES.get(job.kind, 'Tune')} for {target}",
        started=job.started_at,
        ended=job.ended_at,
        agent=inputs.agents.get(job.requested_by_id),
        used=(inputs.identifiers.pid,),
        generated=tuple(_url(row) for row in builds),
        tools=tuple(tools),
        hardware=target,
        environment=environment,
        seed=seed if isinstance(seed, int) else None,
        parameters=options_of({key: values[key] for key in _SEARCH_PARAMETERS if key in values}),
    )


def _build(inputs: ActivityInputs, row: Build) -> Activity:
    job, kind, provenance = row.job, _kind(row), row.provenance
    record = inputs.records.get(row.record_id)
    details = inputs.measurements.of(record) if record else None
    measured_in = environment_of(details) if details else None
    options = mapping(row.candidate.get("options"))
    steps = {name: provenance.get(name) for name in _BUILD_PARAMETERS}
    # No row stores when a build was started.
    return Activity(
        url=f"{_url(row)}#making",
        kind=kind,
        title=f"{_BUILD_TITLES[kind]} for {row.target.slug} with {row.candidate['backend']}",
        ended=row.created_at,
        agent=inputs.agents.get(job.requested_by_id) if job else None,
        used=(inputs.identifiers.pid, *_files_used(inputs, row)),
        generated=(_url(row),),
        tools=tools_of(mapping(provenance.get("toolchain"))),
        hardware=row.target.slug,
        environment=Environment(facts=measured_in.facts) if measured_in else _device_of(job),
        seed=details.seed if details else None,
        within=_job_url(job) if job else None,
        parameters=options_of({**options, **steps}),
    )


def _files_used(inputs: ActivityInputs, row: Build) -> tuple[str, ...]:
    """Files of the version that a build used: samples, or the network in another format."""
    fittings = [mapping(row.provenance.get(name)) for name in _FITTINGS]
    uses_samples = any(fitting.get("source") == "samples" for fitting in fittings)
    samples = inputs.urls.get(_SAMPLES) if uses_samples else None
    source = inputs.digests.get(str(row.provenance.get("source_sha256")))
    return tuple(url for url in (samples, source) if url)


def _kind(row: Build) -> ActivityKind:
    """Reduced precision decides first, then a change of format."""
    precision = PRECISION_OF[row.tolerance]
    if precision.is_quantised:
        return "quantise"
    if precision is not PRECISIONS[0]:
        return "convert"
    file_format = next((each for each in _CONVERTED if each.matches(row.entry_point)), None)
    is_converted = file_format is not None and not file_format.matches(row.graph.path)
    return "convert" if is_converted else "compile"


def _measurement(inputs: ActivityInputs, record: Record, build: Build | None) -> Activity:
    details, job, target = inputs.measurements.of(record), record.job, record.target.slug
    url = record_url(settings.HUB_URL, record.pk)
    reproduces = details.provenance.get("reproduces")
    repeated = [record_url(settings.HUB_URL, reproduces)] if reproduces else []
    agent = job.requested_by_id if job else inputs.uploaders.get(record.pk)
    verb = "Measure again" if is_repetition(record) else "Measure"
    return Activity(
        url=f"{url}#measuring",
        kind="benchmark",
        title=f"{verb} on {target} with {record.backend}",
        ended=record.created_at,
        agent=inputs.agents.get(agent),
        used=(_url(build) if build else inputs.identifiers.pid, *repeated),
        generated=(url,),
        tools=tools_of(details.tools),
        hardware=target,
        environment=environment_of(details),
        seed=details.seed,
        within=_job_url(job) if job else None,
        parameters={
            "kind": str(record.kind), "tolerance": str(record.tolerance), **protocol_of(details)
        },
    )  # fmt: skip


def _reproduction(
    inputs: ActivityInputs, url: str, run: list[tuple[DescribedBuild, Reproduction]]
) -> Activity:
    tools: dict[str, str] = {}
    for _, reproduction in run:
        tools |= reproduction.tools
    job, target = run[0][1].job, run[0][0].description.target
    return Activity(
        url=url,
        kind="reproduce",
        title=f"Reproduce on {target}",
        started=job.started_at if job else None,
        ended=max(reproduction.created_at for _, reproduction in run),
        agent=inputs.agents.get(job.requested_by_id) if job else None,
        used=tuple(build.description.url for build, _ in run),
        tools=tools_of(tools),
        hardware=target,
        environment=_device_of(job),
        parameters={f"build {build.row.uuid}": str(again.outcome) for build, again in run},
    )


def _device_of(job: Job | None) -> Environment | None:
    if job is None or job.device is None:
        return None
    return Environment(facts={"device": job.device.name})


def _job_url(job: Job) -> str:
    return job_url(settings.HUB_URL, job.uuid)


def _url(row: Build) -> str:
    return build_url(settings.HUB_URL, row.uuid)
