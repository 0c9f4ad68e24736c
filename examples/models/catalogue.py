"""Every maker by name."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from examples.models import exported, light
from examples.models.digits import digits_cnn, digits_mlp


@dataclass(frozen=True, slots=True)
class Maker:
    """Writes a publishable folder and returns it; ``summary`` is one line for people."""

    write: Callable[[Path, int], Path]
    summary: str


MAKERS: dict[str, Maker] = {
    "digits": Maker(digits_cnn, "small CNN trained on handwritten digits, labelled samples"),
    "digits_mlp": Maker(digits_mlp, "small MLP trained on handwritten digits, labelled samples"),
    **{
        name: Maker(partial(light.make, name), f"{title}, seeded weights")
        for name, (_, title, _) in light.ARCHITECTURES.items()
    },
    **{
        name: Maker(partial(exported.make, name), f"{architecture.title}, seeded weights")
        for name, architecture in exported.ARCHITECTURES.items()
    },
}


def make(name: str, out: Path, seed: int = 0) -> Path:
    """Write the example ``name`` of :data:`MAKERS` (else KeyError) into the folder ``out``."""
    return MAKERS[name].write(out, seed)
