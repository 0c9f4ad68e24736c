"""Why tests were skipped: a line per reason, at the end of one run or of several.

A run appends its skipped tests to the file ``HPCFAIR_SKIPS``, if that is set, in place of printing
the reasons; ``python -m tests.skips FILE`` prints those of all runs. ``make test`` does so for its
runs on SQLite and on PostgreSQL. A test that several runs skip is counted once.
"""

import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

_PREFIX = "Skipped: "


def report_skips(reporter: pytest.TerminalReporter) -> None:
    """Print why tests of this run were skipped, or append them to ``HPCFAIR_SKIPS``."""
    skipped = {
        (report.nodeid, str(report.longrepr[2]).removeprefix(_PREFIX))
        for report in reporter.stats.get("skipped", [])
    }
    if file := os.environ.get("HPCFAIR_SKIPS"):
        with Path(file).open("a") as appended:
            appended.writelines(json.dumps(test) + "\n" for test in skipped)
    elif skipped:
        reporter.section("skipped tests")
        for line in lines_of(skipped):
            reporter.write_line(line)


def lines_of(skipped: set[tuple[str, str]]) -> list[str]:
    """A line for each reason, with the number of tests: what can be installed comes first.

    Args:
        skipped: Pairs of a test's id and the reason.
    """
    counts = Counter(reason for _, reason in skipped)
    ordered = sorted(counts, key=lambda reason: ("not installed" not in reason, reason))
    return [f"{_PREFIX}{counts[reason]} — {reason}" for reason in ordered]


if __name__ == "__main__":
    tests = {tuple(json.loads(line)) for line in Path(sys.argv[1]).read_text().splitlines()}
    print(*lines_of(tests), sep="\n")
