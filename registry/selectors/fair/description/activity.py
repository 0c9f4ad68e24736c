"""What was done with a version, as its record tells it: who or what, with which tools, from what.

What authors did before they published is told as they tell it, without times; what the hub did
stands in :mod:`registry.selectors.fair.description.making`.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from django.conf import settings

from registry.fair.activities import Activity, ActivityKind, Environment, Scan
from registry.fair.addresses import job_url
from registry.fair.parts import DerivationDescription, RelationName
from registry.selectors.fair.description.built import Built
from registry.selectors.fair.description.done import Done
from registry.selectors.fair.description.making import (
    makings_of,
    measurings_of,
    reproductions_of,
    searches_of,
)
from registry.selectors.fair.description.past import Past
from registry.selectors.fair.description.tools import mapping, options_of, tools_of
from registry.states import JobState
from registry.tables import Job, MLModel, Revision

#: What an author did who made one of another, and how it is called. Titles name no source: it may
#: be hidden one day, and the activity stays.
_AUTHORED: dict[RelationName, tuple[ActivityKind, str]] = {
    "finetune": ("train", "Fine-tune"),
    "adapter": ("train", "Train an adapter"),
    "distilled": ("train", "Distil"),
    "merge": ("merge", "Merge"),
    "quantized": ("quantise", "Quantise"),
    "exported": ("convert", "Export to another format"),
    "compiled": ("compile", "Compile"),
}
#: What says that there was nothing to inspect.
_NOTHING = "no_model_file"
_MOST_FINDINGS = 50
_EARLIEST = datetime.min.replace(tzinfo=UTC)


def people_in(
    revision: Revision, builds: Sequence[Built], past: Past, repeaters: Mapping[str, int]
) -> set[int | None]:
    """Keys of the users that :func:`activities_of` will name."""
    jobs: list[Job | None] = [*past.searches, *(one.job for one in past.builds)]
    jobs += [one.job for one in past.records]
    jobs += [job for one in builds for job in (one.row.job, one.row.record.job)]
    jobs += [one.reproduction.job for one in builds if one.reproduction]
    asked = {job.requested_by_id for job in jobs if job is not None}
    added = {repeaters.get(one.pk) for one in past.records}
    return {revision.author_id, revision.mlmodel.created_by_id, *asked, *added} - {None}


def activities_of(done: Done) -> tuple[Activity, ...]:
    """All that was done, in the order in which it ended; first what nobody told the time of."""
    found = [
        *_author(done),
        _publish(done),
        *_fork(done),
        *_inspect(done),
        *searches_of(done),
        *makings_of(done),
        *measurings_of(done),
        *reproductions_of(done),
    ]
    return tuple(sorted(found, key=lambda one: (one.ended or _EARLIEST, one.url)))


def scan_of(past: Past) -> Scan | None:
    """What the newest inspection found of the safety of the files."""
    job = next(iter(past.inspections), None)
    if job is None or job.ended_at is None or job.failure_code == _NOTHING:
        return None
    is_accepted = job.state == JobState.SUCCEEDED
    findings = job.result.get("warnings", ()) if is_accepted else [job.failure_detail]
    return Scan(
        is_accepted=is_accepted,
        at=job.ended_at,
        url=job_url(settings.HUB_URL, job.uuid),
        findings=tuple(str(one) for one in findings if one)[:_MOST_FINDINGS],
    )


def _author(done: Done) -> list[Activity]:
    """What was done before, as far as the card tells."""
    used: dict[RelationName, list[DerivationDescription]] = {}
    for one in done.sources:
        if one.relation in _AUTHORED:
            used.setdefault(one.relation, []).append(one)
    found = [_authored(done, *_AUTHORED[name], name, sources) for name, sources in used.items()]
    if _trained_on(done) and all(one.kind != "train" for one in found):
        found.append(_authored(done, "train", "Train", "train", []))
    return found


def _authored(
    done: Done, kind: ActivityKind, title: str, name: str, sources: list[DerivationDescription]
) -> Activity:
    emissions = done.emissions if kind == "train" else None
    hardware = options_of({"hardware": emissions.hardware}) if emissions else {}
    return Activity(
        url=f"{done.place.version(done.revision.oid)}#{name}",
        kind=kind,
        title=title,
        ended=None,
        used=(*_addresses(sources), *(_trained_on(done) if kind == "train" else ())),
        generated=(done.names.pid,),
        environment=Environment(facts=hardware) if hardware else None,
        parameters=options_of(
            {"training_type": emissions.training_type, "location": emissions.location}
            if emissions
            else {}
        ),
    )


def _trained_on(done: Done) -> tuple[str, ...]:
    uses = (one for one in done.datasets if one.role == "trained")
    return tuple(url for one in uses if (url := one.pid or one.url))


def _publish(done: Done) -> Activity:
    revision = done.revision
    others = (one for one in done.sources if one.relation not in {*_AUTHORED, "fork"})
    return Activity(
        url=done.place.commit(revision.oid),
        kind="publish",
        title=f"Publish {done.names.tag or revision.oid[:10]}",
        ended=revision.created_at,
        agent=done.people.get(revision.author_id),
        used=_addresses(others),
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
    job = done.past.inspection
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
            generated=tuple(done.tests),
            tools=tools_of(mapping(job.result.get("tools"))),
        )
    ]


def _addresses(sources: Iterable[DerivationDescription]) -> tuple[str, ...]:
    return tuple(url for one in sources if (url := one.pid or one.url))
