"""Measured roofs for people."""

from django import template

from hub.pages.figuretext import rate
from registry.selectors.analysis.roof import Roofs
from registry.tables import Roof

register = template.Library()


@register.filter
def roof_rate(roof: Roof) -> str:
    """``205 GFLOP/s``, ``1.2 TOP/s`` of integers, ``12.3 GB/s``."""
    return rate(roof.per_second, _unit(roof))


@register.filter
def roof_range(roof: Roof) -> str:
    """The slowest and the fastest round: ``198 to 205 GFLOP/s``."""
    if roof.low == roof.high:
        return ""
    return f"{rate(roof.low, _unit(roof))} to {rate(roof.high, _unit(roof))}"


@register.filter
def roof_samples(roof: Roof) -> str:
    """``20 samples in 5 rounds, 1 disturbed``."""
    samples = sum(len(each["samples_ns"]) for each in roof.rounds)
    disturbed = sum(each["is_disturbed"] for each in roof.rounds)
    rounds = f"{len(roof.rounds)} round{'s' * (len(roof.rounds) != 1)}"
    return f"{samples} samples in {rounds}" + (f", {disturbed} disturbed" if disturbed else "")


@register.filter
def disturbed(roofs: Roofs) -> str:
    """Names of the roofs that no undisturbed round supports."""
    every = {**roofs.compute, **roofs.memory}
    return ", ".join(name for name, roof in every.items() if roof.is_disturbed)


def _unit(roof: Roof) -> str:
    if roof.level:
        return "B"
    return "OP" if roof.precision.startswith("int") else "FLOP"
