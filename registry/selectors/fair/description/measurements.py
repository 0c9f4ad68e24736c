"""Benchmark records as far as descriptions use them: everything but the raw samples."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Func, JSONField
from django.db.models.sql.compiler import SQLCompiler

from registry.fair.activities import Energy, Environment
from registry.fair.parts import Software
from registry.tables import Record

Option: TypeAlias = str | float | bool

#: Single-valued fields of a record's environment and target.
_SURROUNDINGS = (
    *("os", "kernel", "python", "sandbox", "governor", "turbo", "virtualisation"),
    *("cpu_limit", "memory_limit_bytes"),
)
_MACHINE = ("architecture", "processor", "cores", "threads", "memory_bytes", "sockets", "microcode")
_PROTOCOL = (
    *("scenario", "clock", "order", "processes", "warmup_runs", "runs_per_block", "stop_rule"),
    *("half_width", "caller_placed", "samples_per_run", "batch", "streams", "load"),
)
_GROUPS = ("target", "environment", "protocol", "energy", "search", "provenance")
#: Names in toolchains that are not packages of PyPI.
_NO_PACKAGES = frozenset({"python", "nvidia-driver"})
_Group: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementDetails:
    """The circumstances and statistics of one benchmark record.

    Attributes:
        target, environment, protocol, statistics, search, provenance, energy: Groups of the
            record's document; the statistics are those of the candidate.
        baseline: Backend whose defaults were the baseline.
        memory: Peak resident set size of the process, in bytes.
    """

    target: _Group = field(default_factory=dict)
    environment: _Group = field(default_factory=dict)
    protocol: _Group = field(default_factory=dict)
    statistics: _Group = field(default_factory=dict)
    search: _Group = field(default_factory=dict)
    provenance: _Group = field(default_factory=dict)
    energy: _Group = field(default_factory=dict)
    baseline: str | None = None
    memory: int | None = None

    @property
    def processor(self) -> str | None:
        """Name of the processor as the machine reports it."""
        return self.target.get("processor") or None

    @property
    def tools(self) -> _Group:
        """Name to version of the programs that made the record."""
        return mapping(self.provenance.get("tools"))

    @property
    def seed(self) -> int | None:
        """Seed of the search or of the measurement protocol."""
        seed = self.search.get("seed", self.protocol.get("seed"))
        return seed if isinstance(seed, int) else None


class _WithoutSamples(Func):
    """A record's document without its long lists, removed by the database before transfer."""

    template = "JSON_REMOVE(%(expressions)s, '$.samples', '$.layers')"
    output_field = JSONField()

    def as_postgresql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper
    ) -> tuple[str, Any]:
        """PostgreSQL removes keys with an operator."""
        template = "(%(expressions)s - 'samples' - 'layers')"
        return self.as_sql(compiler, connection, template=template)


def measurement_details(records: Collection[str]) -> dict[str, MeasurementDetails]:
    """Id of a record to its details; one query."""
    rows = Record.objects.filter(pk__in=records)
    return {
        pk: _details(mapping(document))
        for pk, document in rows.values_list("pk", _WithoutSamples("document"))
    }


def _details(document: _Group) -> MeasurementDetails:
    groups = {name: mapping(document.get(name)) for name in _GROUPS}
    baseline = mapping(mapping(document.get("comparison")).get("baseline")).get("backend")
    memory = mapping(document.get("memory")).get("peak_rss_bytes")
    return MeasurementDetails(
        **groups,
        statistics=mapping(mapping(document.get("statistics")).get("candidate")),
        baseline=str(baseline) if baseline else None,
        memory=memory if isinstance(memory, int) else None,
    )


def environment_of(details: MeasurementDetails) -> Environment | None:
    """Environment of a measurement; ``None`` if nothing of it is known."""
    facts = {"device": details.target.get("device")} | machine_of(details)
    facts |= {name: details.environment.get(name) for name in _SURROUNDINGS}
    packages = tools_of(mapping(details.environment.get("packages")))
    options = options_of(facts)
    return Environment(facts=options, packages=packages) if options or packages else None


def machine_of(details: MeasurementDetails) -> dict[str, Option]:
    """Hardware and drivers of the machine, without its name."""
    accelerators = details.target.get("accelerators") or ()
    names = [mapping(each).get("name") for each in accelerators]
    drivers = {str(driver) for each in accelerators if (driver := mapping(each).get("driver"))}
    facts = {name: details.target.get(name) for name in _MACHINE}
    facts |= {
        "features": " ".join(details.target.get("features") or ()) or None,
        "accelerators": ", ".join(str(name) for name in names if name) or None,
        "driver": ", ".join(sorted(drivers)) or None,
    }
    return options_of(facts)


def protocol_of(details: MeasurementDetails) -> dict[str, Option]:
    """Parameters of the measurement protocol."""
    return options_of({name: details.protocol.get(name) for name in _PROTOCOL})


def energy_of(details: MeasurementDetails) -> Energy | None:
    """Energy of one run; ``None`` if no counter reported it."""
    joules = details.energy.get("joules_per_run")
    if not isinstance(joules, int | float):
        return None
    return Energy(
        joules=joules,
        method=str(details.energy.get("method", "")),
        source=str(details.energy.get("source", "")),
    )


def tools_of(versions: Mapping[str, Any]) -> tuple[Software, ...]:
    """Programs with their versions, by name; packages of PyPI have a package URL."""
    return tuple(
        Software(
            name=name,
            version=str(version),
            purl=None if name in _NO_PACKAGES else f"pkg:pypi/{name.lower()}@{version}",
        )
        for name, version in sorted(versions.items())
    )


def options_of(values: Mapping[str, Any]) -> dict[str, Option]:
    """Options as scalars: lists and objects as JSON text; ``None`` is left out."""
    return {
        str(name): value
        if isinstance(value, str | int | float | bool)
        else json.dumps(value, sort_keys=True)
        for name, value in values.items()
        if value is not None
    }


def mapping(value: Any) -> Mapping[str, Any]:
    """``value`` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}
