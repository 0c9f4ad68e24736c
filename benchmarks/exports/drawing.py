"""Draws a set of exported networks by seed.

Another seed gives other sizes and weights of the architectures, and other exporters, opsets and
dynamic dimensions, so that what was made to work for one set is tested on another.
"""

import random
from collections.abc import Collection
from dataclasses import asdict, dataclass
from itertools import count
from typing import Any

from benchmarks.exports.catalogue import FAMILIES, architectures
from benchmarks.exports.sizes import SMALL

#: Exporters of PyTorch and the opsets that they write. TorchScript's ends at 20, and dynamo's
#: writes 18 and converts to what is asked for.
OPSETS: dict[str, tuple[int, ...]] = {
    "torchscript": (17, 18, 19, 20),
    "dynamo": (18, 19, 20, 21, 22),
    "skl2onnx": (17, 18, 19, 20, 21, 22),
    # The newest that it knows.
    "onnxmltools": (15,),
    "keras": (18, 20, 22),
}
_TORCH = ("torchscript", "dynamo")
_OTHERS = {"scikit_learn": "skl2onnx", "boosted": "onnxmltools", "keras_models": "keras"}


@dataclass(frozen=True, slots=True)
class Export:
    """One network to export.

    Attributes:
        name: An architecture of ``family`` in :data:`benchmarks.exports.catalogue.FAMILIES`.
        seed: Of sizes and weights.
        exporter: A key of :data:`OPSETS`.
        is_dynamic: Whether the batch is dynamic, and other sizes where the architecture takes any.
        scale: Of its sizes, of :data:`benchmarks.exports.sizes.SCALES`.
    """

    name: str
    family: str
    seed: int
    exporter: str
    opset: int
    is_dynamic: bool
    scale: str = SMALL

    @property
    def slug(self) -> str:
        """Unique name."""
        shapes = "dynamic" if self.is_dynamic else "static"
        name = self.name if self.scale == SMALL else f"{self.name}-{self.scale}"
        return f"{name}-{self.exporter}-{self.opset}-{shapes}-{self.seed}"

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def draw(
    seed: int,
    size: int | None = None,
    families: Collection[str] | None = None,
    scale: str = SMALL,
) -> list[Export]:
    """A set of ``size`` different architectures, by default all, each exported in one way.

    Exporters, opsets and dynamic dimensions are about equally frequent. A seed exports an
    architecture in the same way whatever the size, the families and the scale of the set. Raises
    KeyError for an unknown family.
    """
    chosen = {name for family in (families or FAMILIES) for name in FAMILIES[family]}
    chance = random.Random(f"exports {seed}")  # noqa: S311  not for secrets
    drawn = list(architectures())
    chance.shuffle(drawn)
    turns = {name: count(chance.randrange(100)) for name in OPSETS}
    exporters = count(chance.randrange(2))
    exports = []
    for family, name in drawn:
        exporter = _OTHERS.get(family) or _TORCH[next(exporters) % len(_TORCH)]
        turn = next(turns[exporter])
        opsets = OPSETS[exporter]
        # Opset and shapes vary independently: the former changes with every second turn.
        opset = opsets[turn // 2 % len(opsets)]
        is_dynamic = turn % 2 == 0
        exports.append(Export(name, family, seed, exporter, opset, is_dynamic, scale))
    return [export for export in exports if export.name in chosen][:size]
