import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.fair.description import Description
from registry.fair.score.badge import badge
from registry.fair.score.harvest import Answer, Harvest, expected
from registry.fair.score.score import Points, assess
from tests.registry.fair.samples import EVERY, LEAST, MOST, PID

every = pytest.mark.parametrize("description", EVERY.values(), ids=EVERY.keys())
SVG = "{http://www.w3.org/2000/svg}"


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2) of ``#rgb`` or ``#rrggbb``."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    channels = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@every
def test_parts_add_up_to_the_whole(description: Description) -> None:
    score = assess(expected(description))
    document = score.as_dict()
    assert document["schema"] == "hpcfair.fair/1"
    assert document["subject"] == description.pid
    for part in ("principles", "sources"):
        parts = document[part].values()
        assert sum(one["points"] for one in parts) == document["points"]
        assert sum(one["of"] for one in parts) == document["of"]
    assert sum(one["points"] for one in document["metrics"]) == document["points"]
    assert json.loads(json.dumps(document)) == document


def test_all_points_are_a_hundred_and_no_fewer_are() -> None:
    assert assess(expected(MOST)).total.percent == 100
    assert Points(99.99, 100).percent == 99
    assert Points(0, 0).percent == 0
    least = assess(expected(LEAST))
    assert 0 < least.total.percent < 100
    assert least.of_source("fairsfair").of == 26
    assert least.of_principle("F").of > least.of_principle("F").points


def test_what_the_card_can_mend_is_said_first() -> None:
    fields = [one.field for _, one in assess(expected(LEAST)).missing]
    assert fields.index(None) == sum(field is not None for field in fields)


def test_nothing_seen_is_nothing_earned_but_a_protocol() -> None:
    blind = Harvest(kind="model", landing=Answer(url="https://hub.example.org/lab/x"))
    score = assess(blind)
    assert score.subject == "https://hub.example.org/lab/x"
    earned = {metric.id for metric, outcome in score.results if outcome.points}
    assert earned == {"FsF-A1.1-01MD", "FsF-A1.2-01MD"}


def test_an_identifier_seen_through_the_header_names_the_record() -> None:
    seen = expected(MOST)
    assert assess(seen).subject == PID
    assert assess(replace(seen, links=())).subject == PID


@pytest.mark.parametrize("points", [0, 20, 30, 42])
def test_a_badge_can_be_read_by_eye_and_by_ear(points: float) -> None:
    svg = ElementTree.fromstring(badge(Points(points, 42)))  # noqa: S314 - our own
    title = svg.find(f"{SVG}title")
    assert title is not None
    assert title.text == svg.get("aria-label")
    assert title.text == f"FAIR: {points} of 42 points, {100 * points // 42} %"
    assert svg.get("role") == "img"
    assert [one.text for one in svg.iter(f"{SVG}text")] == ["FAIR", f"{points} of 42"]
    for box in svg.iter(f"{SVG}rect"):
        assert 1.05 / (luminance(str(box.get("fill"))) + 0.05) >= 4.5


def test_a_badge_says_that_nobody_has_looked() -> None:
    svg = ElementTree.fromstring(badge(None))  # noqa: S314 - our own
    assert svg.get("aria-label") == "FAIR: not assessed"


@given(st.text(max_size=40))
def test_no_text_breaks_a_badge(label: str) -> None:
    svg = ElementTree.fromstring(badge(Points(1, 2), label=label))  # noqa: S314 - our own
    assert [one.tag for one in svg.iter()].count(f"{SVG}text") == 2
    assert all(one.tag.startswith(SVG) for one in svg.iter())
