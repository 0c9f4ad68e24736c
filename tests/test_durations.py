"""The table of the files that take the most processor time."""

from tests.durations import LINES, Duration, lines_of


def test_files_are_ordered_by_processor_time_after_the_sum_of_all() -> None:
    durations = {
        "tests/a.py": Duration(6.0, 9.0, {"a1", "a2"}),
        "tests/b.py": Duration(30.5, 20.0, {"b"}),
        "tests/c.py": Duration(0.5, 0.5, {"c"}),
    }
    assert lines_of(durations) == [
        "   37.0 CPU s,    29.5 s,     4 tests: all files",
        "   30.5 CPU s,    20.0 s,     1 tests: tests/b.py",
        "    6.0 CPU s,     9.0 s,     2 tests: tests/a.py",
    ]


def test_a_brief_run_has_no_table_and_a_long_one_a_limited_one() -> None:
    assert lines_of({"tests/c.py": Duration(0.5, 0.5, {"c"})}) == []
    many = {f"tests/{number}.py": Duration(10.0 + number) for number in range(LINES + 5)}
    assert len(lines_of(many)) == LINES + 1
