"""Builds and activities as elements of class ``Build`` of SPDX 3.0.1's Build profile."""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from registry.fair.activities import Activity, ActivityKind, BuildDescription, Energy
from registry.fair.bom.common import Value, text_of, utc
from registry.fair.bom.spdx_graph import NOWHERE, SpdxGraph, entry, external_refs, sha256
from registry.fair.description import Description
from registry.fair.figures import figures_of
from registry.fair.linked.context import HUB_TERMS
from registry.fair.linked.term import ACTIVITIES

_JOULES = 1_000_000


def add_builds(
    graph: SpdxGraph, description: Description, *, package: str, maker: str
) -> dict[str, str]:
    """Add builds of ``package``, supplied by the agent ``maker``; returns address to element."""
    elements: dict[str, str] = {}
    for build in description.builds:
        result = _add_result(graph, description, build, maker)
        graph.relate(result, "descendantOf", [package], "compiled")
        elements[build.url] = result
    return elements


def _add_result(
    graph: SpdxGraph, description: Description, build: BuildDescription, maker: str
) -> str:
    result = graph.add(
        "ai_AIPackage",
        "build-result",
        name=f"{description.title} for {build.target}",
        externalRef=external_refs("metrics", build.benchmark.page_url),
        suppliedBy=maker,
        releaseTime=utc(build.created),
        software_packageVersion=description.version,
        software_downloadLocation=build.page_url or NOWHERE,
        software_homePage=build.page_url,
        software_primaryPurpose="model",
        ai_metric=_metrics(build),
        ai_energyConsumption=_energy(build.benchmark.energy),
    )
    files = [
        graph.add(
            "software_File",
            "build-file",
            name=file.path,
            externalRef=external_refs("binaryArtifact", file.content_url),
            verifiedUsing=sha256(file.sha256),
            software_fileKind="file",
        )
        for file in build.files
    ]
    graph.relate(result, "contains", files)
    return result


def _type_of(kind: ActivityKind) -> str:
    """Address of the hub's term for a kind of activity."""
    return HUB_TERMS + ACTIVITIES[kind].removeprefix("hub:")


def _metrics(build: BuildDescription) -> list[dict[str, str]]:
    numbers: dict[str, float | None] = (
        {figure.label: figure.value for figure in figures_of(build.benchmark)}
        | {"accuracy": build.accuracy, "accuracy of the reference": build.accuracy_reference}
        | {f"deviation {key}": value for key, value in build.deviation.items()}
    )
    return _entries({key: value for key, value in numbers.items() if value is not None})


def _energy(energy: Energy | None) -> dict[str, object] | None:
    """Energy of a run in megajoules, the unit of SPDX."""
    if energy is None:
        return None
    described = {
        "type": "ai_EnergyConsumptionDescription",
        # A text, because JSON numbers would be read as doubles and written with an exponent.
        "ai_energyQuantity": f"{Decimal(str(energy.joules)) / _JOULES:f}",
        "ai_energyUnit": "megajoule",
    }
    return {"type": "ai_EnergyConsumption", "ai_inferenceEnergyConsumption": [described]}


def _entries(values: Mapping[str, Value]) -> list[dict[str, str]]:
    return [entry(key, text_of(value)) for key, value in values.items()]


def add_activities(
    graph: SpdxGraph, activities: Iterable[Activity], elements: Mapping[str, str]
) -> None:
    """Add each activity as a ``build_Build``. ``elements`` maps an address to its element; inputs
    and outputs without one become external references."""
    for activity in activities:
        element = graph.add(
            "build_Build",
            "activity",
            name=activity.title,
            externalRef=_external(activity, elements),
            build_buildType=_type_of(activity.kind),
            build_buildId=activity.url,
            build_buildStartTime=utc(activity.started) if activity.started else None,
            build_buildEndTime=utc(activity.ended) if activity.ended else None,
            build_parameter=_entries(_parameters(activity)),
            build_environment=_entries(_environment(activity)),
        )
        graph.relate(element, "hasInput", _internal(activity.used, elements))
        graph.relate(element, "hasOutput", _internal(activity.generated, elements))
        if activity.agent:
            graph.relate(element, "invokedBy", [graph.agent(activity.agent)])
        packages = activity.environment.packages if activity.environment else ()
        tools = dict.fromkeys((*activity.tools, *packages))
        graph.relate(element, "usesTool", [graph.tool(one) for one in tools])


def _parameters(activity: Activity) -> dict[str, Value]:
    seed: dict[str, Value] = {} if activity.seed is None else {"seed": activity.seed}
    return seed | activity.parameters


def _environment(activity: Activity) -> dict[str, Value]:
    target: dict[str, Value] = {"target": activity.hardware} if activity.hardware else {}
    return target | (activity.environment.facts if activity.environment else {})


def _internal(addresses: Iterable[str], elements: Mapping[str, str]) -> list[str]:
    return list(dict.fromkeys(elements[one] for one in addresses if one in elements))


def _external(activity: Activity, elements: Mapping[str, str]) -> list[dict[str, object]]:
    sides = {"used": activity.used, "generated": activity.generated}
    return [
        reference
        for side, addresses in sides.items()
        for one in dict.fromkeys(addresses)
        if one not in elements
        for reference in external_refs("other", one, side)
    ]
