"""Latency and outputs of the fake kernels, both deterministic functions of their arguments."""

from collections.abc import Mapping
from math import log2

import numpy as np

from workers.engine.ports import Array
from workers.engine.types import Options, TensorSpec

#: Latency of the default options, in seconds.
DEFAULT_S = 0.004

_KERNEL = {"direct": 1.0, "blocked": 0.9, "winograd": 0.85}
#: Best tile size for each layout.
_BEST_TILE = {"nchw": 32, "nhwc": 16}


def latency_s(options: Options) -> float:
    """Seconds of one run: :data:`DEFAULT_S` for the default options, 0.33 to 2.5 times that.

    Options interact as real ones: the best tile depends on the layout, unrolling helps vector code
    only, and int8 kernels gain less from threads.
    """
    kernel = str(options["kernel"])
    factor = _KERNEL[kernel]
    if "tile" in options:
        factor *= 0.7 + 0.15 * abs(
            log2(int(options["tile"])) - log2(_BEST_TILE[str(options["layout"])])
        )
    if "unroll" in options:
        distance = abs(log2(int(options["unroll"])) - (2 if options["vectorise"] else 0))
        factor *= 0.92 + 0.04 * distance
    if not options["vectorise"]:
        factor *= 1.5
    int8 = options["precision"] == "int8"
    factor *= 0.6 if int8 else 1.0
    threads = int(options["threads"])
    speedup = {1: 0.6, 2: 1.0, 3: 1.1, 4: 0.8}[threads]
    factor /= speedup**0.5 if int8 else speedup
    return DEFAULT_S * factor


def outputs(
    specs: tuple[TensorSpec, ...], inputs: Mapping[str, Array], options: Options
) -> dict[str, Array]:
    """Sines of the inputs' means as outputs ``specs``, one row per sample of the first input.

    Outputs of float32 options agree except for the last bits; int8 rounds to a 64th of the largest
    value.
    """
    with np.errstate(invalid="ignore"):
        return _outputs(specs, inputs, options)


def _outputs(
    specs: tuple[TensorSpec, ...], inputs: Mapping[str, Array], options: Options
) -> dict[str, Array]:
    first = next(iter(inputs.values()))
    rows = first.shape[0] if first.ndim else 1
    means = np.array([np.mean(np.asarray(a, np.float64)) for a in inputs.values()])
    per_row = np.asarray(first, np.float64).reshape(rows, -1).mean(axis=1)
    result: dict[str, Array] = {}
    for spec in specs:
        shape = tuple(size if isinstance(size, int) else rows for size in spec.shape)
        values = np.sin(np.arange(np.prod(shape, dtype=int)) + means.sum()).reshape(shape)
        if shape and shape[0] == rows:
            values = values + per_row.reshape(rows, *[1] * (len(shape) - 1))
        if options["precision"] == "int8":
            largest = float(np.abs(values).max(initial=1e-9))
            values = np.round(values / largest * 64) * largest / 64
        elif options["kernel"] == "winograd":
            values = values * (1 + 1e-7)
        result[spec.name] = values.astype(spec.dtype)
    return result
