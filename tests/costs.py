"""Files of tests by the processor time they take, at the end of a run.

Processes of children count once they have been waited for. A fixture counts for the test that it is
made for, and its end for the last test that uses it.
"""

import resource
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

#: Of so many seconds of processor time a file is worth a line.
NOTABLE_S = 5.0
#: At most so many lines.
LINES = 40


@dataclass
class Cost:
    """What the tests of a file took, in seconds."""

    cpu_s: float = 0.0
    wall_s: float = 0.0
    tests: set[str] = field(default_factory=set)


class Costs:
    """A plugin of pytest: each report brings the processor time since the one before."""

    def __init__(self) -> None:
        self._before_s = 0.0

    def pytest_collection_finish(self) -> None:
        """Importing the tests is no file's."""
        self._before_s = _processor_time()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Iterator[None]:
        """A process of pytest-xdist sends the report, with this, to the one that prints."""
        report = yield
        now = _processor_time()
        report.cpu_s, self._before_s = now - self._before_s, now
        return report


def report_costs(reporter: pytest.TerminalReporter) -> None:
    """Print the most expensive files of this run."""
    costs: defaultdict[str, Cost] = defaultdict(Cost)
    for report in (report for reports in reporter.stats.values() for report in reports):
        if hasattr(report, "cpu_s"):
            cost = costs[report.nodeid.partition("::")[0]]
            cost.cpu_s += report.cpu_s
            cost.wall_s += report.duration
            cost.tests.add(report.nodeid)
    if lines := lines_of(costs):
        reporter.section("files by processor time")
        reporter.write_line("\n".join(lines))


def lines_of(costs: dict[str, Cost]) -> list[str]:
    """A line for each file of at least ``NOTABLE_S``, after the sum; none without such a file."""
    notable = sorted(
        (file for file in costs if costs[file].cpu_s >= NOTABLE_S), key=lambda f: -costs[f].cpu_s
    )
    total = Cost(
        sum(cost.cpu_s for cost in costs.values()),
        sum(cost.wall_s for cost in costs.values()),
        {test for cost in costs.values() for test in cost.tests},
    )
    rows = [("all files", total), *((file, costs[file]) for file in notable[:LINES])]
    return [
        f"{cost.cpu_s:7.1f} CPU s, {cost.wall_s:7.1f} s, {len(cost.tests):5d} tests: {name}"
        for name, cost in (rows if notable else ())
    ]


def _processor_time() -> float:
    """Of this process and of its children that have ended, in seconds."""
    own, children = (
        resource.getrusage(resource.RUSAGE_SELF),
        resource.getrusage(resource.RUSAGE_CHILDREN),
    )
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
