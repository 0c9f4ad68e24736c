"""States as data, and the drawing of them."""

import re
from pathlib import Path

from registry.states import DeviceHealth, DeviceState, JobState
from registry.transitions import DEVICE_TRANSITIONS, JOB_ENDED, JOB_TRANSITIONS

DRAWING = Path(__file__).parents[2] / "docs" / "states.md"


def test_the_drawing_shows_the_arrows_there_are_and_no_other() -> None:
    job = DRAWING.read_text().split("## A device")[0]
    drawn = set(re.findall(r"^ +(\w+) --> (\w+):", job, flags=re.MULTILINE))
    arrows = {(source.value, to.value) for source, ends in JOB_TRANSITIONS.items() for to in ends}
    assert drawn == arrows


def test_the_diagram_shows_the_states_of_devices() -> None:
    device = DRAWING.read_text().split("## A device")[1].split("## A build")[0]
    drawn = set(re.findall(r"^ +(\w+) --> (\w+):", device, flags=re.MULTILINE))
    decisions = {arrow for arrow in drawn if set(arrow) <= set(DeviceState.values)}
    ends = {
        (source.value, to.value)
        for source, following in DEVICE_TRANSITIONS.items()
        for to in following
    }
    assert decisions == ends
    assert {state for arrow in drawn - decisions for state in arrow} == set(DeviceHealth.values)
    assert set(DEVICE_TRANSITIONS) == set(DeviceState)


def test_every_state_is_in_the_table_and_only_ends_have_no_way_on() -> None:
    assert set(JOB_TRANSITIONS) == set(JobState)
    assert {JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED} == JOB_ENDED
