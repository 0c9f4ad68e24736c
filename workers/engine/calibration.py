"""Inputs to fit builds to: the ranges of a network's tensors, the errors of its layers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from workers.engine.ports import Array
from workers.engine.samples import fixed_batch, held_out_samples, make_test_set, random_inputs
from workers.engine.types import Network

#: Ranges settle after few inputs, and every input costs a run without optimisations.
_RUNS = 16
_SEED = 20_260_101
#: Further runs that tell whether what was fitted holds.
_CHECKS = 4


@dataclass(frozen=True, slots=True)
class Fitting:
    """Inputs to fit a build to, and others to see whether it holds.

    Attributes:
        source: Of ``fit``.
        is_evaluated: Whether builds are judged on ``check``, so that none may be fitted to it.
    """

    fit: tuple[dict[str, Array], ...]
    check: tuple[dict[str, Array], ...]
    source: Literal["samples", "random"]
    is_evaluated: bool


def calibration_inputs(
    network: Network,
) -> tuple[list[dict[str, Array]], Literal["samples", "random"]]:
    """Inputs of a few runs, and where they come from.

    Parses a stranger's file: call it in a limited child process only.

    Raises:
        ValueError: the samples do not fit the graph, or a dtype has no random values.
    """
    path = network.samples_path
    if path is None:
        return [random_inputs(network, seed) for seed in range(_SEED, _SEED + _RUNS)], "random"
    # Builds must not be fitted to what judges them; where there are few rows, they are.
    samples, _ = held_out_samples(path, fixed_batch(network))
    tests = make_test_set(network, samples, _SEED)
    return list(tests.cases[:_RUNS]), tests.source


def fitting_inputs(network: Network) -> Fitting:
    """Inputs for what would flatter a build that were fitted to those that judge it: to these it
    never is. Where samples can be spared, they fit three quarters and check the rest; where not,
    they only check.

    Parses a stranger's file: call it in a limited child process only.

    Raises:
        ValueError: as of :func:`calibration_inputs`.
    """
    path, batch = network.samples_path, fixed_batch(network)
    samples, spared = held_out_samples(path, batch) if path else ({}, False)
    rows = min(map(len, samples.values()), default=0) // batch * batch
    cut = min(rows // batch * 3 // 4, _RUNS) * batch
    if spared and cut:
        fit, check = _rows(samples, 0, cut), _rows(samples, cut, cut + _CHECKS * batch)
        return Fitting(_cases(network, fit), _cases(network, check), "samples", is_evaluated=False)
    random = tuple(random_inputs(network, seed) for seed in range(_SEED, _SEED + _RUNS + _CHECKS))
    check = _rows(samples, 0, _CHECKS * batch)
    held = _cases(network, check) if samples else random[_RUNS:]
    return Fitting(random[:_RUNS], held, "random", is_evaluated=bool(samples))


def _rows(samples: Mapping[str, Array], start: int, stop: int) -> dict[str, Array]:
    return {name: array[start:stop] for name, array in samples.items()}


def _cases(network: Network, samples: Mapping[str, Array]) -> tuple[dict[str, Array], ...]:
    return make_test_set(network, samples, _SEED).cases
