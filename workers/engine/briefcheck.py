"""The part of a test set that most trials of a search are checked on."""

from collections.abc import Mapping
from dataclasses import replace

from workers.engine.ports import Array
from workers.engine.testset import BRIEF_MACS, TestSet
from workers.engine.types import Network


def brief_test_set(tests: TestSet, network: Network) -> TestSet:
    """The test set of a brief check: as many cases as ``BRIEF_MACS`` allow, at least one, and a
    random input where the cases are samples; the whole set if nothing is left out.

    Classes have limits on random inputs as well. Other sizes and planted numbers are left out,
    since runtimes compile the network again for each of them. The accuracy on a part of the cases
    would mean little, so they have no labels.
    """
    macs, count = network.macs or 0, 1
    rows = [_batch(case, network) for case in tests.cases]
    extras = _of_usual_size(tests)
    random_rows = sum(_batch(extra, network) for extra in extras)
    if macs * (rows[0] + random_rows) > BRIEF_MACS:
        extras, random_rows = (), 0
    while count < len(rows) and macs * (sum(rows[: count + 1]) + random_rows) <= BRIEF_MACS:
        count += 1
    if count + len(extras) == len(tests.runs):
        return tests
    labels = tests.labels if count == len(rows) else None
    return replace(tests, cases=tests.cases[:count], labels=labels, extras=extras, planted=())


def _of_usual_size(tests: TestSet) -> tuple[dict[str, Array], ...]:
    """The random input beside samples if it has the shapes of the timing input; empty if not."""
    if tests.source == "random" or not tests.extras:
        return ()
    first, timing = tests.extras[0], tests.timing
    is_usual = all(first[name].shape == array.shape for name, array in timing.items())
    return (first,) if is_usual else ()


def _batch(inputs: Mapping[str, Array], network: Network) -> int:
    """Rows of a run, if the graph leaves their number open; else 1."""
    sizes = [
        len(inputs[spec.name])
        for spec in network.inputs
        if spec.shape and isinstance(spec.shape[0], str)
    ]
    return max(sizes, default=1)
