"""What an identifier says of itself: a record and a promise that people read without a program."""

from dataclasses import replace
from datetime import UTC, datetime

from registry.fair import erc
from registry.fair.description import Description
from registry.fair.parts import Agent
from tests.registry.fair.samples import CONCEPT_PID, LEAST, PID, WITHDRAWN

STATEMENT = (
    "Never reassigned. The identified files never change; if they are withdrawn or deleted under "
    "the policy, the record is kept."
)
TEST = (
    " NAAN 99999 is a test authority: resolves on this hub only, and nothing is promised beyond it."
)
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
        f"what:   {STATEMENT}{TEST}",
        "when:   20260301",
        "where:  https://hub.example.org/policy",
    ]


def test_all_versions_together_promise_less() -> None:
    told = lines(LEAST, CONCEPT_PID)
    assert told[4] == f"where:  {CONCEPT_PID}"
    assert told[7].startswith("what:   Never reassigned. Identifies all versions together")


def test_what_was_withdrawn_says_when_and_why() -> None:
    assert lines(WITHDRAWN)[7] == (
        "what:   Withdrawn 20260402 (Superseded; found to be wrong.): the record is kept, the "
        f"files are deleted.{TEST}"
    )


def test_only_the_test_authority_is_marked_as_one() -> None:
    own = PID.replace("99999", "12345")
    assert lines(replace(LEAST, pid=own), own)[7] == f"what:   {STATEMENT}"


def test_no_name_passes_for_another_element() -> None:
    people = (Agent(name="A; B\nwhere: http://evil.example"), Agent(name="C"))
    told = lines(replace(LEAST, creators=people, title="a\r\nerc-support:"))
    assert told[1] == "who:    A, B where: http://evil.example; C"
    assert told[2] == "what:   a erc-support:"
    assert len(told) == 10
