"""What the hub did with a version, as its record tells it: searches, builds, measurements.

Each activity is named by the page that shows it; where that page is the thing that was made, by a
fragment of it.
"""

from dataclasses import replace
from pathlib import PurePosixPath

from django.conf import settings

from registry.fair.activities import Activity, ActivityKind, Benchmark, Environment
from registry.fair.addresses import build_url, job_url, record_url
from registry.selectors.fair.description.built import Built, benchmark_of
from registry.selectors.fair.description.done import Done
from registry.selectors.fair.description.measured import environment_of, protocol_of
from registry.selectors.fair.description.past import is_repetition
from registry.selectors.fair.description.tools import mapping, options_of, tools_of
from registry.states import JobKind, ToleranceClass
from registry.tables import Build, Job, Record, Reproduction

_KINDS: dict[str, ActivityKind] = {
    ToleranceClass.EXACT: "compile",
    ToleranceClass.FP16: "convert",
    ToleranceClass.BF16: "convert",
    ToleranceClass.INT8: "quantise",
}
#: How networks end that runtimes read as they read the published one. All else is machine code.
_FORMATS = frozenset({".onnx", ".ort", ".xml", ".tflite"})
_DOING = {"compile": "Compile", "convert": "Convert", "quantise": "Quantise"}
_SEARCHING: dict[str, str] = {
    JobKind.TUNE: "Tune",
    JobKind.SCHEDULE: "Search schedules of operators",
    JobKind.PASSES: "Study compiler passes",
}
#: Of a search's parameters and result; its seed stands alone.
_SEARCH = ("strategy", "backends", "budget_s", "trials", "improved", "ended")
#: What builds are fitted to inputs by; each tells where these came from.
_FITTINGS = ("calibration", "bias_correction")
#: Of how a build was made, what its options do not say.
_MAKING = (*_FITTINGS, "converter", "compile_s")
_SAMPLES = "samples.npz"


def searches_of(done: Done) -> list[Activity]:
    """One for each search, whether or not a build is left of it."""
    made: dict[int, list[Build]] = {}
    jobs = {job.pk: job for job in done.past.searches}
    for row in _rows(done):
        if row.job is not None:
            made.setdefault(row.job.pk, []).append(row)
            jobs.setdefault(row.job.pk, row.job)
    return [_search(done, job, made.get(pk, [])) for pk, job in jobs.items() if job.ended_at]


def makings_of(done: Done) -> list[Activity]:
    """One for each build; the baseline is the network itself, of which nothing was made."""
    return [_make(done, row) for row in _rows(done) if not row.is_baseline]


def measurings_of(done: Done) -> list[Activity]:
    """One for each record, that of no build, too."""
    builds = {row.record_id: row for row in reversed(_rows(done))}
    records = {built.row.record_id: built.row.record for built in done.builds}
    records |= {record.pk: record for record in done.past.records}
    return [_measure(done, record, builds.get(pk)) for pk, record in records.items()]


def repetitions_of(done: Done) -> tuple[Benchmark, ...]:
    """What others measured who repeated what the hub had measured."""
    return tuple(
        replace(
            benchmark_of(record, how, record.backend),
            by="third party",
            target=record.target.slug,
            backend=record.backend,
            reproduces=how.provenance.get("reproduces"),
        )
        for record in done.past.records
        if is_repetition(record)
        for how in [done.circumstances.of(record)]
    )


def reproductions_of(done: Done) -> list[Activity]:
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
    return [_run(done, url, again) for url, again in runs.items()]


def _rows(done: Done) -> list[Build]:
    return [*(built.row for built in done.builds), *done.past.builds]


def _search(done: Done, job: Job, builds: list[Build]) -> Activity:
    tools = dict.fromkeys(tools_of(mapping(job.result.get("tools"))))
    seed = job.parameters.get("seed")
    environment, strategy = _at_device(job), None
    for row in builds:
        record = done.records.get(row.record_id)
        how = done.circumstances.of(record) if record else None
        tools |= dict.fromkeys(tools_of(mapping(row.provenance.get("toolchain"))))
        if how is not None:
            tools |= dict.fromkeys(tools_of(how.tools))
            seed = how.seed if seed is None else seed
            strategy = how.search.get("strategy", strategy)
            around = environment_of(how)
            environment = Environment(facts=around.facts) if around else environment
    known = {"strategy": strategy} | job.parameters | job.result
    target = job.target.slug if job.target else None
    return Activity(
        url=job_url(settings.HUB_URL, job.uuid),
        kind="tune",
        title=f"{_SEARCHING.get(job.kind, 'Tune')} for {target}",
        started=job.started_at,
        ended=job.ended_at,
        agent=done.people.get(job.requested_by_id),
        used=(done.names.pid,),
        generated=tuple(_url(row) for row in builds),
        tools=tuple(tools),
        hardware=target,
        environment=environment,
        seed=seed if isinstance(seed, int) else None,
        parameters=options_of({key: known[key] for key in _SEARCH if key in known}),
    )


def _make(done: Done, row: Build) -> Activity:
    job, kind = row.job, _kind(row)
    record = done.records.get(row.record_id)
    how = done.circumstances.of(record) if record else None
    around = environment_of(how) if how else None
    options = mapping(row.candidate.get("options"))
    # When it began is in no row: of a search, only its own beginning is known.
    return Activity(
        url=f"{_url(row)}#making",
        kind=kind,
        title=f"{_DOING[kind]} for {row.target.slug} with {row.candidate['backend']}",
        ended=row.created_at,
        agent=done.people.get(job.requested_by_id) if job else None,
        used=(done.names.pid, *_ingredients(done, row)),
        generated=(_url(row),),
        tools=tools_of(mapping(row.provenance.get("toolchain"))),
        hardware=row.target.slug,
        environment=Environment(facts=around.facts) if around else _at_device(job),
        seed=how.seed if how else None,
        within=job_url(settings.HUB_URL, job.uuid) if job else None,
        parameters=options_of({**options, **{name: row.provenance.get(name) for name in _MAKING}}),
    )


def _ingredients(done: Done, row: Build) -> tuple[str, ...]:
    """Files of the version that were used beside the network: samples, or another form of it."""
    fittings = [mapping(row.provenance.get(name)) for name in _FITTINGS]
    paths = [_SAMPLES] if any(each.get("source") == "samples" for each in fittings) else []
    found = [done.urls[path] for path in paths if path in done.urls]
    digest = row.provenance.get("source_sha256")
    found += [url for url in [done.digests.get(str(digest))] if url]
    return tuple(found)


def _kind(row: Build) -> ActivityKind:
    """What was done: lower precision counts first, then another format."""
    kind = _KINDS[row.tolerance]
    form = PurePosixPath(row.entry_point).suffix
    is_other = form in _FORMATS and form != PurePosixPath(row.graph.path).suffix
    return "convert" if kind == "compile" and is_other else kind


def _measure(done: Done, record: Record, build: Build | None) -> Activity:
    how, job, target = done.circumstances.of(record), record.job, record.target.slug
    by_other = is_repetition(record)
    doing = "Measure again" if by_other else "Measure"
    reproduces = how.provenance.get("reproduces")
    repeated = record_url(settings.HUB_URL, reproduces) if reproduces else None
    used = (_url(build) if build else done.names.pid, repeated)
    asked = job.requested_by_id if job else done.repeaters.get(record.pk)
    return Activity(
        url=f"{record_url(settings.HUB_URL, record.pk)}#measuring",
        kind="benchmark",
        title=f"{doing} on {target} with {record.backend}",
        ended=record.created_at,
        agent=done.people.get(asked),
        used=tuple(one for one in used if one),
        generated=(record_url(settings.HUB_URL, record.pk),),
        tools=tools_of(how.tools),
        hardware=target,
        environment=environment_of(how),
        seed=how.seed,
        within=job_url(settings.HUB_URL, job.uuid) if job else None,
        parameters={
            "kind": str(record.kind), "tolerance": str(record.tolerance), **protocol_of(how)
        },
    )  # fmt: skip


def _run(done: Done, url: str, run: list[tuple[Built, Reproduction]]) -> Activity:
    tools: dict[str, str] = {}
    for _, again in run:
        tools |= again.tools
    job, target = run[0][1].job, run[0][0].described.target
    return Activity(
        url=url,
        kind="reproduce",
        title=f"Reproduce on {target}",
        started=job.started_at if job else None,
        ended=max(again.created_at for _, again in run),
        agent=done.people.get(job.requested_by_id) if job else None,
        used=tuple(built.described.url for built, _ in run),
        tools=tools_of(tools),
        hardware=target,
        environment=_at_device(job),
        parameters={f"build {built.described.uuid}": str(again.outcome) for built, again in run},
    )


def _at_device(job: Job | None) -> Environment | None:
    if job is None or job.device is None:
        return None
    return Environment(facts={"device": job.device.name})


def _url(row: Build) -> str:
    return build_url(settings.HUB_URL, row.uuid)
