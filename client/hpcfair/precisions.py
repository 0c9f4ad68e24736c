"""Precisions that builds compute in, and the tolerance class of each.

This table is the only list of precisions, in the order of strictness: accepting a tolerance class
implies accepting all classes before it. It uses the standard library only, because the client, the
registry and the tuning engine derive from it.
"""

from dataclasses import dataclass
from typing import Final, Literal

Tolerance = Literal["exact", "fp16", "bf16", "int8"]


@dataclass(frozen=True, slots=True)
class Precision:
    """A numeric type of the heavy operators of a build.

    Attributes:
        name: As NumPy and the options of backends spell it.
        tolerance: Class of builds that compute in it.
        max_relative: Largest deviation of one output element, relative to the scale of the output.
        relative_l2: Largest relative L2 distance of an output from the reference.
        features: Processor features of which one provides the arithmetic; empty if all do.
        is_quantised: Values are integers with calibrated ranges: NaN and infinity do not propagate,
            and only calibrated inputs are checked.
    """

    name: str
    tolerance: Tolerance
    max_relative: float
    relative_l2: float
    features: frozenset[str] = frozenset()
    is_quantised: bool = False


# ``exact`` is float32 with sums in another order: rounding errors of 6e-8 grow with the root of sum
# length and depth, and ONNX Runtime's own optimisations move SqueezeNet and DenseNet-121 by 2e-6,
# Inception v2 and ResNet-50 by 3e-5 (relative L2, seeded weights). One rounding to TF32 or float16
# already costs 2e-4, so a build that silently computes in reduced precision cannot pass. ``fp16``
# and ``bf16`` allow 20 of their roundings (4.9e-4, 3.9e-3): a random walk of fifty layers adds up
# to about 7. ``int8`` only rejects wrong results; its cost is measured on labelled samples.
PRECISIONS: Final[tuple[Precision, ...]] = (
    Precision("float32", "exact", max_relative=1e-4, relative_l2=1e-4),
    Precision(
        "float16",
        "fp16",
        max_relative=2e-2,
        relative_l2=1e-2,
        features=frozenset({"avx512_fp16", "amx_fp16", "asimdhp"}),
    ),
    Precision(
        "bfloat16",
        "bf16",
        max_relative=1e-1,
        relative_l2=8e-2,
        features=frozenset({"avx512_bf16", "amx_bf16", "bf16"}),
    ),
    Precision("int8", "int8", max_relative=5e-1, relative_l2=2e-1, is_quantised=True),
)
#: Tolerance classes, strictest first.
TOLERANCES: Final[tuple[Tolerance, ...]] = tuple(each.tolerance for each in PRECISIONS)
#: Name of a precision to the tolerance class of its builds.
TOLERANCE_OF: Final[dict[str, Tolerance]] = {each.name: each.tolerance for each in PRECISIONS}
#: Tolerance class to its precision.
PRECISION_OF: Final[dict[str, Precision]] = {each.tolerance: each for each in PRECISIONS}
