"""Parts of a CycloneDX 1.7 bill of materials: files, software, builds and activities, as in the
definitions ``component``, ``formula`` and ``workflow`` of its JSON schema."""

from collections.abc import Iterable, Mapping
from typing import Any

from registry.fair.activities import Activity, ActivityKind, Benchmark, BuildDescription
from registry.fair.bom.common import Value, media_type, text_of, utc
from registry.fair.description import Description
from registry.fair.figures import figures_of
from registry.fair.iris import iri
from registry.fair.parts import FileDescription, Software
from registry.fair.serialise import drop_empty

#: Prefix of own properties, as CycloneDX's property taxonomy requires.
_NAMESPACE = "hpcfair"
_TASKS: dict[ActivityKind, list[str]] = {
    "publish": ["release"],
    "train": ["build"],
    "merge": ["build"],
    "inspect": ["scan"],
    "tune": ["build", "test"],
    "compile": ["build"],
    "quantise": ["build"],
    "convert": ["build"],
    "benchmark": ["test"],
    "fork": ["clone"],
    "reproduce": ["test"],
}


def properties_of(**values: str | None) -> list[dict[str, str]]:
    """``properties`` in our namespace; empty ones are left out."""
    return [
        {"name": f"{_NAMESPACE}:{name}", "value": value} for name, value in values.items() if value
    ]


def entries_of(kind: str, values: Mapping[str, Value]) -> list[dict[str, str]]:
    """A mapping as properties: ``hpcfair:<kind>:<key>``."""
    return [
        {"name": f"{_NAMESPACE}:{kind}:{key}", "value": text_of(value)}
        for key, value in values.items()
    ]


def reference(kind: str, address: str | None, comment: str | None = None) -> list[dict[str, str]]:
    """An external reference, or none if there is no address."""
    url = iri(address)
    return [drop_empty(type=kind, url=url, comment=comment)] if url else []


def file_component(file: FileDescription) -> dict[str, Any]:
    """A file with its hash and address."""
    return drop_empty(
        **{"mime-type": media_type(file)},
        type="file",
        name=file.path,
        hashes=[{"alg": "SHA-256", "content": file.sha256}],
        externalReferences=reference("distribution", file.content_url),
        properties=properties_of(fileSizeBytes=str(file.size_bytes), fileRole=file.role),
    )


class BomReferences:
    """``bom-ref`` of each part of a description, by its address or value. A ``bom-ref`` is unique
    in the document; a build and the activity that made it may share an address."""

    def __init__(self, description: Description) -> None:
        pid = description.pid
        tools = [one for build in description.builds for one in build.tools]
        tools += [one for activity in description.activities for one in _software_of(activity)]
        self.model = pid
        self.software: dict[Software, str] = {
            one: f"{pid}#software-{number}" for number, one in enumerate(dict.fromkeys(tools), 1)
        }
        self._by_address = {description.pid: pid, description.landing: pid}
        for number, build in enumerate(description.builds, 1):
            self._by_address[build.url] = f"{pid}#build-{number}"
        for number, source in enumerate(description.derived_from, 1):
            for address in filter(None, (source.url, source.pid)):
                self._by_address.setdefault(address, f"{pid}#source-{number}")

    def of(self, address: str) -> str:
        """The ``bom-ref`` of the part with this address; raises KeyError if there is none."""
        return self._by_address[address]

    def resources(self, addresses: Iterable[str]) -> list[dict[str, Any]]:
        """A ``resourceReferenceChoice`` for each part, or for each address outside this bill. They
        are unique, as the schema requires, even if a part has several addresses."""
        refs = {one: self._by_address.get(one) for one in addresses}
        inside = dict.fromkeys(ref for ref in refs.values() if ref)
        outside = dict.fromkeys(iri(one) for one, ref in refs.items() if not ref)
        return [
            *({"ref": ref} for ref in inside),
            *({"externalReference": {"type": "other", "url": url}} for url in outside if url),
        ]


def software_component(software: Software, ref: str) -> dict[str, Any]:
    """A library with its package URL."""
    return drop_empty(
        **{"bom-ref": ref},
        type="library",
        name=software.name,
        version=software.version,
        purl=software.purl,
    )


def metrics_of(one: Benchmark, where: str) -> list[dict[str, Any]]:
    """The figures of a measurement as performance metrics."""
    return [
        drop_empty(
            type=figure.label,
            value=text_of(figure.value),
            slice=where,
            confidenceInterval=drop_empty(
                lowerBound=_optional(figure.low), upperBound=_optional(figure.high)
            ),
        )
        for figure in figures_of(one)
    ]


def build_component(description: Description, build: BuildDescription, ref: str) -> dict[str, Any]:
    """A build of the network for one target."""
    benchmark = build.benchmark
    return drop_empty(
        **{"bom-ref": ref},
        type="machine-learning-model",
        group=description.repository.partition("/")[0],
        name=f"{description.name} for {build.target}",
        version=description.version,
        externalReferences=[
            *reference("website", build.page_url),
            *reference("quality-metrics", benchmark.page_url),
        ],
        components=[file_component(file) for file in build.files],
        modelCard={
            "quantitativeAnalysis": {"performanceMetrics": metrics_of(benchmark, build.target)}
        },
        properties=_build_properties(build),
    )


def _optional(number: float | None) -> str | None:
    return None if number is None else text_of(number)


def _build_properties(build: BuildDescription) -> list[dict[str, str]]:
    reproduced = None if build.reproduced is None else text_of(build.reproduced)
    return (
        properties_of(
            buildUuid=build.uuid,
            target=build.target,
            processor=build.processor,
            backend=build.backend,
            tolerance=build.tolerance,
            entryPoint=build.entry_point,
            recordSha256=build.benchmark.id,
            accuracy=_optional(build.accuracy),
            accuracyReference=_optional(build.accuracy_reference),
            reproduced=reproduced,
        )
        + entries_of("option", build.options)
        + entries_of("deviation", build.deviation)
    )


def _software_of(activity: Activity) -> tuple[Software, ...]:
    """Tools of an activity, and packages of its environment."""
    return activity.tools + (activity.environment.packages if activity.environment else ())


def workflow(activity: Activity, number: int, references: BomReferences) -> dict[str, Any]:
    """An activity as a workflow of the formulation."""
    inputs: list[dict[str, Any]] = [
        {"resource": one} for one in references.resources(activity.used)
    ]
    parameters = [
        {"name": key, "value": text_of(value)} for key, value in activity.parameters.items()
    ]
    if activity.seed is not None:
        parameters.append({"name": "seed", "value": str(activity.seed)})
    facts = activity.environment.facts if activity.environment else {}
    return drop_empty(
        **{"bom-ref": f"{references.model}#activity-{number}"},
        uid=activity.url,
        name=activity.title,
        taskTypes=_TASKS[activity.kind],
        timeStart=utc(activity.started) if activity.started else None,
        timeEnd=utc(activity.ended) if activity.ended else None,
        resourceReferences=[
            {"ref": references.software[one]} for one in dict.fromkeys(_software_of(activity))
        ],
        inputs=inputs + ([{"parameters": parameters}] if parameters else []),
        outputs=[
            {"type": "artifact", "resource": one}
            for one in references.resources(activity.generated)
        ],
        properties=properties_of(
            activity=activity.kind,
            hardware=activity.hardware,
            agent=activity.agent.name if activity.agent else None,
            partOf=activity.within,
        )
        + entries_of("environment", facts),
    )
