"""The precision of each layer of a build that keeps to a limit, from its provenance."""

from collections import Counter
from dataclasses import dataclass
from math import isfinite
from typing import Any

from registry.tables import Build

#: Entries of a build's provenance, as OpenVINO's builds write them.
_ENTRY, _ROUNDING = "mixed_precision", "weight_rounding"


@dataclass(frozen=True, slots=True)
class LayerPrecision:
    """A layer, or neighbours of the same precision.

    Attributes:
        nodes: Names of nodes of the network.
        error: Relative error of the outputs that this layer adds alone.
        saved_ns: Of a run, against float32; negative if it takes longer.
    """

    nodes: tuple[str, ...]
    precision: str
    error: float
    saved_ns: float


@dataclass(frozen=True, slots=True)
class WeightRounding:
    """Weights that were rounded for what their layers take, not to the nearest value.

    Attributes:
        layers: Number of layers whose weights were.
        runs: Number of runs whose values the layers took.
        uses_samples: Whether inputs were samples of the model, not random.
    """

    layers: int
    runs: int
    uses_samples: bool


@dataclass(frozen=True, slots=True)
class MixedPrecision:
    """A build's layers in the order of the network, its limit, the error expected of it, and how
    weights were rounded, if the build says so."""

    limit: float
    error: float
    layers: tuple[LayerPrecision, ...]
    rounding: WeightRounding | None

    @property
    def counts(self) -> dict[str, int]:
        """Precision to the number of layers, the most frequent first."""
        return dict(Counter(layer.precision for layer in self.layers).most_common())


def mixed_precision(build: Build) -> MixedPrecision | None:
    """The precisions of a build's layers; ``None`` if it has a single one.

    A device describes them after work on an untrusted network: a malformed description counts as
    none.
    """
    if build.candidate.get("options", {}).get("precision") != "mixed":
        return None
    try:
        described = build.provenance[_ENTRY]
        return MixedPrecision(
            _number(described["limit"]),
            _number(described["error"]),
            tuple(_layer(each) for each in described["layers"]),
            _rounding(build.provenance.get(_ROUNDING)),
        )
    except (KeyError, TypeError, ValueError):
        return None


def _layer(described: Any) -> LayerPrecision:
    return LayerPrecision(
        tuple(str(name) for name in described["nodes"]),
        str(described["precision"]),
        _number(described["error"]),
        1e9 * _number(described["saved_s"]),
    )


def _rounding(described: Any) -> WeightRounding | None:
    if described is None:
        return None
    layers, runs = int(described["layers"]), int(described["runs"])
    return WeightRounding(layers, runs, described["source"] == "samples")


def _number(value: Any) -> float:
    number = float(value)
    if not isfinite(number):
        raise ValueError(value)
    return number
