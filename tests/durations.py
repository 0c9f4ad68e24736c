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
class Duration:
    """What the tests of a file took, in seconds."""

    cpu_s: float = 0.0
    wall_s: float = 0.0
    tests: set[str] = field(default_factory=set)


class Durations:
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


def report_durations(reporter: pytest.TerminalReporter) -> None:
    """Print the most expensive files of this run."""
    durations: defaultdict[str, Duration] = defaultdict(Duration)
    for report in (report for reports in reporter.stats.values() for report in reports):
        if hasattr(report, "cpu_s"):
            duration = durations[report.nodeid.partition("::")[0]]
            duration.cpu_s += report.cpu_s
            duration.wall_s += report.duration
            duration.tests.add(report.nodeid)
    if lines := lines_of(durations):
        reporter.section("files by processor time")
        reporter.write_line("\n".join(lines))


def lines_of(durations: dict[str, Duration]) -> list[str]:
    """A line for each file of at least ``NOTABLE_S``, after the sum; none without such a file."""
    ranked = sorted(durations.items(), key=lambda item: -item[1].cpu_s)
    notable = [item for item in ranked if item[1].cpu_s >= NOTABLE_S]
    total = Duration(
        sum(duration.cpu_s for duration in durations.values()),
        sum(duration.wall_s for duration in durations.values()),
        {test for duration in durations.values() for test in duration.tests},
    )
    rows = [("all files", total), *notable[:LINES]] if notable else []
    return [
        f"{each.cpu_s:7.1f} CPU s, {each.wall_s:7.1f} s, {len(each.tests):5d} tests: {name}"
        for name, each in rows
    ]


def _processor_time() -> float:
    """Of this process and of its children that have ended, in seconds."""
    own, children = (
        resource.getrusage(resource.RUSAGE_SELF),
        resource.getrusage(resource.RUSAGE_CHILDREN),
    )
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
