"""States as data, and the drawing of them."""

import re
from pathlib import Path

from registry.states import JOB_ENDED, JOB_TRANSITIONS, JobState

DRAWING = Path(__file__).parents[2] / "docs" / "states.md"


def test_the_drawing_shows_the_arrows_there_are_and_no_other() -> None:
    job = DRAWING.read_text().split("## A device")[0]
    drawn = set(re.findall(r"^ +(\w+) --> (\w+):", job, flags=re.MULTILINE))
    arrows = {(source.value, to.value) for source, ends in JOB_TRANSITIONS.items() for to in ends}
    assert drawn == arrows


def test_every_state_is_in_the_table_and_only_ends_have_no_way_on() -> None:
    assert set(JOB_TRANSITIONS) == set(JobState)
    assert {JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED} == JOB_ENDED
