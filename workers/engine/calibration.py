"""Inputs to calibrate and fit builds with: ranges of tensors, errors of layers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from workers.engine.ports import Array
from workers.engine.random_inputs import random_inputs
from workers.engine.samples import held_out_samples, rows_per_run
from workers.engine.testset import make_test_set
from workers.engine.types import Network

#: Ranges converge after few inputs, and every input costs a run without optimisations.
_RUNS = 16
_SEED = 20_260_101
#: Further runs that validate the fit.
_VALIDATION_RUNS = 4


@dataclass(frozen=True, slots=True)
class Fitting:
    """Inputs to fit a build to, and others to validate the fit.

    Attributes:
        source: Of ``fit``.
        is_evaluated: Whether builds are evaluated on inputs of ``check``: none may be fitted to
            them.
    """

    fit: tuple[dict[str, Array], ...]
    check: tuple[dict[str, Array], ...]
    source: Literal["samples", "random"]
    is_evaluated: bool


def calibration_inputs(
    network: Network,
) -> tuple[list[dict[str, Array]], Literal["samples", "random"]]:
    """Inputs of a few runs, and their source.

    Parses an untrusted file: call it in a limited child process only. Raises ValueError if the
    samples do not fit the graph, or a dtype has no random values.
    """
    if network.samples_path is None:
        return [random_inputs(network, seed) for seed in range(_SEED, _SEED + _RUNS)], "random"
    # Held out from the evaluation of builds, unless the file has too few rows to spare any.
    samples, _ = held_out_samples(network)
    tests = make_test_set(network, samples, _SEED, in_batches=True)
    return list(tests.cases[:_RUNS]), tests.source


def fitting_inputs(network: Network) -> Fitting:
    """Inputs for fits that would be too optimistic on the inputs builds are evaluated on.

    If samples can be spared from evaluation, three quarters of them fit and the rest validates; if
    not, they only validate, and random inputs fit.

    Parses an untrusted file: call it in a limited child process only. Raises as
    :func:`calibration_inputs`.
    """
    samples, is_spared = held_out_samples(network)
    batch = rows_per_run(network, samples)
    rows = min(map(len, samples.values()), default=0) // batch * batch
    cut = min(rows // batch * 3 // 4, _RUNS) * batch
    if is_spared and cut:
        fit, check = _rows(samples, 0, cut), _rows(samples, cut, cut + _VALIDATION_RUNS * batch)
        fit_cases, check_cases = _cases(network, fit), _cases(network, check)
        return Fitting(fit_cases, check_cases, "samples", is_evaluated=False)
    seeds = range(_SEED, _SEED + _RUNS + _VALIDATION_RUNS)
    random = tuple(random_inputs(network, seed) for seed in seeds)
    check = _rows(samples, 0, _VALIDATION_RUNS * batch)
    validation = _cases(network, check) if samples else random[_RUNS:]
    return Fitting(random[:_RUNS], validation, "random", is_evaluated=bool(samples))


def _rows(samples: Mapping[str, Array], start: int, stop: int) -> dict[str, Array]:
    return {name: array[start:stop] for name, array in samples.items()}


def _cases(network: Network, samples: Mapping[str, Array]) -> tuple[dict[str, Array], ...]:
    return make_test_set(network, samples, _SEED, in_batches=True).cases
