"""What an identifier says of itself: a record and a promise that people read without a program."""

from dataclasses import replace
from datetime import UTC, datetime

from registry.fair import erc
from registry.fair.description import Description
from registry.fair.parts import Agent
from tests.registry.fair.samples import CONCEPT_PID, LEAST, PID, WITHDRAWN

PERMANENT = "Permanent: the identified files never change; the identifier is never reassigned."
MINTED = datetime(2026, 3, 1, 12, tzinfo=UTC)


def lines(description: Description, pid: str = PID) -> list[str]:
    return erc.render(description, pid=pid, minted=MINTED).decode().splitlines()


def test_a_version_is_told_with_its_promise() -> None:
    assert lines(LEAST) == [
        "erc:",
        "who:    (:unav)",
        "what:   galaxy-cnn",
        "when:   20260301",
        f"where:  {PID}",
        "erc-support:",
        "who:    Example Lab",
        f"what:   {PERMANENT}",
        "when:   20260301",
        "where:  https://hub.example.org/policy",
    ]


def test_all_versions_together_promise_less() -> None:
    told = lines(LEAST, CONCEPT_PID)
    assert told[4] == f"where:  {CONCEPT_PID}"
    assert told[7].startswith("what:   Permanent: identifies all versions together")


def test_what_was_withdrawn_says_when_and_why() -> None:
    assert lines(WITHDRAWN)[7] == (
        "what:   Withdrawn 20260402 (Superseded; found to be wrong.): the record is kept, the "
        "files are deleted."
    )


def test_no_name_passes_for_another_element() -> None:
    people = (Agent(name="A; B\nwhere: http://evil.example"), Agent(name="C"))
    told = lines(replace(LEAST, creators=people, title="a\r\nerc-support:"))
    assert told[1] == "who:    A, B where: http://evil.example; C"
    assert told[2] == "what:   a erc-support:"
    assert len(told) == 10
