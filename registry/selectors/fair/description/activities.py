"""Activities on a version: those that authors declare, publication, and those of the hub.

Work of authors before publication is described as declared in the card, without times. One activity
generates a version: its publication, which the work of its authors informed.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

from django.conf import settings

from registry.fair.activities import Activity, ActivityKind, Environment, Scan
from registry.fair.addresses import job_url
from registry.fair.parts import DerivationDescription, RelationName
from registry.selectors.fair.description.history import ActivityInputs, History
from registry.selectors.fair.description.hub_activities import (
    build_activities,
    measurement_activities,
    reproduction_activities,
    search_activities,
)
from registry.selectors.fair.description.measurements import mapping, options_of, tools_of
from registry.states import JobState

#: Relation to a source: kind and title of the author's activity. Titles name no source: it may be
#: hidden later, while the activity stays.
_AUTHOR_ACTIVITIES: dict[RelationName, tuple[ActivityKind, str]] = {
    "finetune": ("train", "Fine-tune"),
    "adapter": ("train", "Train an adapter"),
    "distilled": ("train", "Distil"),
    "merge": ("merge", "Merge"),
    "quantized": ("quantise", "Quantise"),
    "exported": ("convert", "Export to another format"),
    "compiled": ("compile", "Compile"),
}
#: Failure code of an inspection that found no network.
_NO_NETWORK = "no_model_file"
_MAX_FINDINGS = 50
_EARLIEST = datetime.min.replace(tzinfo=UTC)


def activities_of(inputs: ActivityInputs) -> tuple[Activity, ...]:
    """All activities in the order of their ends; those without a time come first."""
    by_authors = _author_activities(inputs)
    activities = [
        *by_authors,
        _publish(inputs, by_authors),
        *_fork(inputs),
        *_inspect(inputs),
        *search_activities(inputs),
        *build_activities(inputs),
        *measurement_activities(inputs),
        *reproduction_activities(inputs),
    ]
    return tuple(sorted(activities, key=lambda one: (one.ended or _EARLIEST, one.url)))


def scan_of(history: History) -> Scan | None:
    """Safety findings of the newest inspection; ``None`` if there was nothing to inspect."""
    job = next(iter(history.inspections), None)
    if job is None or job.ended_at is None or job.failure_code == _NO_NETWORK:
        return None
    is_accepted = job.state == JobState.SUCCEEDED
    findings = job.result.get("warnings", ()) if is_accepted else [job.failure_detail]
    return Scan(
        is_accepted=is_accepted,
        at=job.ended_at,
        url=job_url(settings.HUB_URL, job.uuid),
        findings=tuple(str(one) for one in findings if one)[:_MAX_FINDINGS],
    )


def _author_activities(inputs: ActivityInputs) -> list[Activity]:
    by_relation: dict[RelationName, list[DerivationDescription]] = {}
    for one in inputs.sources:
        if one.relation in _AUTHOR_ACTIVITIES:
            by_relation.setdefault(one.relation, []).append(one)
    activities = [
        _author_activity(inputs, *_AUTHOR_ACTIVITIES[relation], relation, sources)
        for relation, sources in by_relation.items()
    ]
    if _training_data(inputs) and all(one.kind != "train" for one in activities):
        activities.append(_author_activity(inputs, "train", "Train", "train", []))
    return activities


def _author_activity(
    inputs: ActivityInputs,
    kind: ActivityKind,
    title: str,
    fragment: str,
    sources: list[DerivationDescription],
) -> Activity:
    emissions = inputs.emissions if kind == "train" else None
    hardware = options_of({"hardware": emissions.hardware}) if emissions else {}
    return Activity(
        url=f"{inputs.address.version(inputs.revision.oid)}#{fragment}",
        kind=kind,
        title=title,
        ended=None,
        used=(*_urls(sources), *(_training_data(inputs) if kind == "train" else ())),
        environment=Environment(facts=hardware) if hardware else None,
        parameters=options_of(
            {"training_type": emissions.training_type, "location": emissions.location}
            if emissions
            else {}
        ),
    )


def _training_data(inputs: ActivityInputs) -> tuple[str, ...]:
    uses = (one for one in inputs.datasets if one.role == "trained")
    return tuple(url for one in uses if (url := one.pid or one.url))


def _publish(inputs: ActivityInputs, by_authors: Iterable[Activity]) -> Activity:
    revision = inputs.revision
    sources = (one for one in inputs.sources if one.relation not in {*_AUTHOR_ACTIVITIES, "fork"})
    return Activity(
        url=inputs.address.commit(revision.oid),
        kind="publish",
        title=f"Publish {inputs.identifiers.tag or revision.oid[:10]}",
        ended=revision.created_at,
        agent=inputs.agents.get(revision.author_id),
        used=_urls(sources),
        generated=(inputs.identifiers.pid,),
        informed_by=tuple(one.url for one in by_authors),
    )


def _fork(inputs: ActivityInputs) -> list[Activity]:
    sources = [one for one in inputs.sources if one.relation == "fork"]
    if not sources:
        return []
    mlmodel = inputs.revision.mlmodel
    return [
        Activity(
            url=f"{inputs.address.concept}#fork",
            kind="fork",
            title=f"Fork {sources[0].source}",
            ended=mlmodel.created_at,
            agent=inputs.agents.get(mlmodel.created_by_id),
            used=_urls(sources),
            generated=(inputs.identifiers.concept_pid,),
        )
    ]


def _inspect(inputs: ActivityInputs) -> list[Activity]:
    job = inputs.history.inspection
    if job is None or job.ended_at is None:
        return []
    return [
        Activity(
            url=job_url(settings.HUB_URL, job.uuid),
            kind="inspect",
            title="Inspect",
            started=job.started_at,
            ended=job.ended_at,
            used=(inputs.identifiers.pid,),
            generated=tuple(inputs.tests),
            tools=tools_of(mapping(job.result.get("tools"))),
        )
    ]


def _urls(sources: Iterable[DerivationDescription]) -> tuple[str, ...]:
    return tuple(url for one in sources if (url := one.pid or one.url))
