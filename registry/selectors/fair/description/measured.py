"""What benchmark records say, as far as descriptions tell it: all but the raw samples."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Func, JSONField
from django.db.models.sql.compiler import SQLCompiler

from registry.fair.activities import Energy, Environment
from registry.selectors.fair.description.tools import Option, mapping, options_of, tools_of
from registry.tables import Record

#: Of a record's environment, target and energy: what is one value and of use to whoever wants the
#: same.
_SURROUNDINGS = (
    *("os", "kernel", "python", "sandbox", "governor", "turbo", "virtualisation"),
    *("cpu_limit", "memory_limit_bytes"),
)
_MACHINE = ("architecture", "processor", "cores", "threads", "memory_bytes", "sockets", "microcode")
_PROTOCOL = (
    *("scenario", "clock", "order", "processes", "warmup_runs", "runs_per_block", "stop_rule"),
    "half_width",
)
_PARTS = ("target", "environment", "protocol", "energy", "search", "provenance")
_Part: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a benchmark record says of where, how and with what it was measured, and what came.

    Attributes:
        target, environment, protocol, statistics, search, provenance: The record's groups; of the
            statistics those of the candidate.
        baseline: Backend whose defaults it was compared with.
        memory: Highest resident set of the process, in bytes.
    """

    target: _Part = field(default_factory=dict)
    environment: _Part = field(default_factory=dict)
    protocol: _Part = field(default_factory=dict)
    statistics: _Part = field(default_factory=dict)
    search: _Part = field(default_factory=dict)
    provenance: _Part = field(default_factory=dict)
    energy: _Part = field(default_factory=dict)
    baseline: str | None = None
    memory: int | None = None

    @property
    def processor(self) -> str | None:
        """As the machine calls it."""
        return self.target.get("processor") or None

    @property
    def tools(self) -> _Part:
        """Name to version of what made the record."""
        return mapping(self.provenance.get("tools"))

    @property
    def seed(self) -> int | None:
        """Of the search that measured."""
        found = self.search.get("seed", self.protocol.get("seed"))
        return found if isinstance(found, int) else None


class _WithoutSamples(Func):
    """A record's document without its long lists, cut by the database: read once, and not sent."""

    template = "JSON_REMOVE(%(expressions)s, '$.samples', '$.layers')"
    output_field = JSONField()

    def as_postgresql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper
    ) -> tuple[str, Any]:
        """PostgreSQL has an operator for it."""
        template = "(%(expressions)s - 'samples' - 'layers')"
        return self.as_sql(compiler, connection, template=template)


def measured_of(records: Collection[str]) -> dict[str, Measured]:
    """For lists: by id of a record. One query."""
    rows = Record.objects.filter(pk__in=records)
    return {
        pk: _measured(mapping(document))
        for pk, document in rows.values_list("pk", _WithoutSamples("document"))
    }


def _measured(document: _Part) -> Measured:
    parts = {name: mapping(document.get(name)) for name in _PARTS}
    baseline = mapping(mapping(document.get("comparison")).get("baseline")).get("backend")
    memory = mapping(document.get("memory")).get("peak_rss_bytes")
    return Measured(
        **parts,
        statistics=mapping(mapping(document.get("statistics")).get("candidate")),
        baseline=str(baseline) if baseline else None,
        memory=memory if isinstance(memory, int) else None,
    )


def environment_of(one: Measured) -> Environment | None:
    """What was around a measurement; ``None`` where nothing of it is known."""
    facts = {"device": one.target.get("device")} | machine_of(one)
    facts |= {name: one.environment.get(name) for name in _SURROUNDINGS}
    packages = tools_of(mapping(one.environment.get("packages")))
    options = options_of(facts)
    return Environment(facts=options, packages=packages) if options or packages else None


def machine_of(one: Measured) -> dict[str, Option]:
    """What the machine was that measured, but for its name."""
    accelerators = one.target.get("accelerators") or ()
    names = [mapping(each).get("name") for each in accelerators]
    drivers = {str(driver) for each in accelerators if (driver := mapping(each).get("driver"))}
    facts = {name: one.target.get(name) for name in _MACHINE}
    facts |= {
        "features": " ".join(one.target.get("features") or ()) or None,
        "accelerators": ", ".join(str(name) for name in names if name) or None,
        "driver": ", ".join(sorted(drivers)) or None,
    }
    return options_of(facts)


def protocol_of(one: Measured) -> dict[str, Option]:
    """How it was measured."""
    return options_of({name: one.protocol.get(name) for name in _PROTOCOL})


def energy_of(one: Measured) -> Energy | None:
    """What a run takes, where a counter told."""
    joules = one.energy.get("joules_per_run")
    if not isinstance(joules, int | float):
        return None
    return Energy(
        joules=joules,
        method=str(one.energy.get("method", "")),
        source=str(one.energy.get("source", "")),
    )
