"""The part of a test set that most trials of a search are checked on."""

from collections.abc import Mapping
from dataclasses import replace

from workers.engine.ports import Array
from workers.engine.testset import BRIEF_MACS, TestSet
from workers.engine.types import Network


def brief_test_set(tests: TestSet, network: Network) -> TestSet:
    """The test set of a brief check: cases of at most ``BRIEF_MACS`` together, at least one; the
    whole set if it takes no more.

    Its accuracy would mean little, so that it has no labels.
    """
    macs = network.macs or 0
    rows = [_batch(case, network) for case in tests.runs]
    if macs * sum(rows) <= BRIEF_MACS:
        return tests
    count = 1
    while count < len(tests.cases) and macs * sum(rows[: count + 1]) <= BRIEF_MACS:
        count += 1
    return replace(tests, cases=tests.cases[:count], labels=None, extras=(), planted=())


def _batch(inputs: Mapping[str, Array], network: Network) -> int:
    """Rows of a run, if the graph leaves their number open; else 1."""
    sizes = [
        len(inputs[spec.name])
        for spec in network.inputs
        if spec.shape and isinstance(spec.shape[0], str)
    ]
    return max(sizes, default=1)
