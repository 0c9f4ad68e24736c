"""Sources, facts, activities and builds of a version as entities of a crate."""

from collections.abc import Mapping
from typing import Any

from registry.fair.activities import (
    Activity,
    Benchmark,
    BuildDescription,
    Environment,
    Hardware,
    Scan,
)
from registry.fair.crate.graph import CrateGraph, Entity, agent, compact, local, quantity, software
from registry.fair.description import Description
from registry.fair.figures import figures_of
from registry.fair.iris import iri
from registry.fair.parts import NetworkDescription


def actions(graph: CrateGraph, description: Description, ids: Mapping[str, str]) -> list[Entity]:
    """Each activity as a ``CreateAction``; ``ids`` maps addresses to identifiers in the crate."""
    return [_action(graph, one, ids) for one in description.activities]


def builds(graph: CrateGraph, description: Description, ids: Mapping[str, str]) -> list[Entity]:
    """Each build with its files and its benchmark record."""
    root = ids[description.pid]
    return [_build(graph, one, root, ids) for one in description.builds]


def derivations(graph: CrateGraph, description: Description) -> list[Entity]:
    """The sources of the version."""
    return [
        graph.add(
            one.pid or iri(one.url) or local("source", one.source, one.oid),
            "CreativeWork",
            name=one.source,
            url=iri(one.url),
            version=one.oid,
        )
        for one in description.derived_from
    ]


def facts(graph: CrateGraph, network: NetworkDescription | None) -> list[Entity]:
    """Facts about the network as named values."""
    if network is None:
        return []
    tensors = (
        (f"{side} {one.name}", f"{one.dtype}[{', '.join(map(str, one.shape))}]")
        for side, group in (("input", network.inputs), ("output", network.outputs))
        for one in group
    )
    values = [
        ("architecture class", network.architecture_class),
        ("parameters", network.parameters),
        ("weight bytes", network.weight_bytes),
        ("multiply-accumulates", network.macs),
        ("precision", network.precision),
        *((f"operator set {domain}", version) for domain, version in network.opsets.items()),
        *tensors,
    ]
    return [quantity(graph, network.path, name, value) for name, value in values if value]


def circumstances(graph: CrateGraph, description: Description) -> list[Entity]:
    """Targets, the safety scan, and measurements by third parties."""
    entities = [_hardware(graph, one) for one in description.tuned_on]
    if description.scan:
        entities.append(_scan(graph, description.scan))
    return entities + [_benchmark(graph, one) for one in description.repetitions]


def _action(graph: CrateGraph, one: Activity, ids: Mapping[str, str]) -> Entity:
    settings = {"seed": one.seed, "target": one.hardware} | one.parameters
    values = [
        quantity(graph, one.url, name, value)
        for name, value in settings.items()
        if value is not None
    ]
    environment = [_environment(graph, one.environment)] if one.environment else []
    return graph.add(
        one.url,
        "CreateAction",
        name=one.title,
        description=f"{one.title} ({one.kind}).",
        startTime=one.started.isoformat() if one.started else None,
        endTime=one.ended.isoformat() if one.ended else None,
        agent=agent(graph, one.agent) if one.agent else None,
        instrument=compact(software(graph, tool) for tool in one.tools),
        object=compact([*_things(graph, one.used, ids), *values, *environment]),
        result=compact(_things(graph, one.generated, ids)),
    )


def _environment(graph: CrateGraph, one: Environment) -> Entity:
    identity = local("environment", one)
    return graph.add(
        identity,
        "CreativeWork",
        name="Environment",
        description="The machine and software of an activity or measurement.",
        additionalProperty=compact(
            quantity(graph, identity, name, value) for name, value in one.facts.items()
        ),
        softwareRequirements=compact(software(graph, package) for package in one.packages),
    )


def _hardware(graph: CrateGraph, one: Hardware) -> Entity:
    return graph.add(
        one.url,
        "CreativeWork",
        name=f"Tuned on {one.slug}",
        description="A target that builds exist for.",
        url=one.url,
        additionalProperty=compact(
            quantity(graph, one.url, name, value) for name, value in one.facts.items()
        ),
    )


def _scan(graph: CrateGraph, one: Scan) -> Entity:
    verdict = (
        "The hub runs these files." if one.is_accepted else "The hub does not run these files."
    )
    return graph.add(
        f"{one.url}#scan",
        "CreativeWork",
        name="Safety scan",
        description=" ".join((verdict, *one.findings)),
        url=one.url if one.is_available else None,
        dateCreated=one.at.isoformat(),
    )


def _things(graph: CrateGraph, addresses: tuple[str, ...], ids: Mapping[str, str]) -> list[Entity]:
    """References to entities by address; those outside this crate are added with their address."""
    references = []
    for address in addresses:
        identity = ids.get(address)
        references.append(
            {"@id": identity}
            if identity is not None
            else graph.add(
                iri(address) or local("thing", address),
                "CreativeWork",
                name=address,
            )
        )
    return references


def _build(graph: CrateGraph, one: BuildDescription, root: str, ids: Mapping[str, str]) -> Entity:
    checks = [
        quantity(graph, one.url, f"deviation {name}", value)
        for name, value in one.deviation.items()
    ]
    facts: list[tuple[str, Any]] = [
        ("target", one.target),
        ("processor", one.processor),
        ("backend", one.backend),
        ("tolerance", one.tolerance),
        ("accuracy", one.accuracy),
        ("accuracy of the reference", one.accuracy_reference),
        ("reproduced", one.reproduced),
        *one.options.items(),
    ]
    values = [quantity(graph, one.url, name, value) for name, value in facts if value is not None]
    return graph.add(
        one.url,
        "CreativeWork",
        name=f"Build for {one.target} ({one.backend}, {one.tolerance})",
        url=one.page_url,
        dateCreated=one.created.isoformat(),
        isBasedOn={"@id": root},
        associatedMedia=compact({"@id": ids[file.url]} for file in one.files),
        softwareRequirements=compact(software(graph, tool) for tool in one.tools),
        additionalProperty=compact([*values, *checks]),
        subjectOf=_benchmark(graph, one.benchmark),
    )


def _benchmark(graph: CrateGraph, one: Benchmark) -> Entity:
    bounds = [
        (f"{end} end of the interval of the ratio", value)
        for end, value in (("lower", one.ratio_low), ("upper", one.ratio_high))
        if value is not None
    ]
    return graph.add(
        one.url,
        "CreativeWork",
        name=f"Benchmark record {one.id[:12]}",
        identifier=one.id,
        description=f"Measured against {one.baseline}; by: {one.by}.",
        url=one.document_url,
        dateCreated=one.measured.isoformat() if one.measured else None,
        additionalProperty=compact(
            [
                *(
                    quantity(graph, one.id, figure.name, figure.value, figure.unit or None)
                    for figure in figures_of(one)
                ),
                *(quantity(graph, one.id, name, value) for name, value in bounds),
            ]
        ),
    )
