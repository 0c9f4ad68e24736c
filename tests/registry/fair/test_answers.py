"""Answers to the few questions: as cards give them, and put into cards that stay as they were."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.errors import Invalid
from registry.fair.card.answers import Answers, Creator, answers_of, applied
from registry.validation.card import parse

README = """---
# agreed with the lab
license: mit   # by mail
model_name: "Galaxies"
authors:
- name: Ada Beispiel
  roles: [Software]
  email: ada@example.org
- Josiah Carberry (https://orcid.org/0000-0002-1825-0097)
unheard: {of: [1, 2]}
datasets: [lab/sky]
---
# Galaxies

Sorts galaxies by their shapes, for surveys of the whole sky.

## Uses

Catalogues of galaxies.
"""


def told(readme: str) -> Answers:
    return answers_of(parse(readme.encode()))


def changed(before: str, after: str) -> list[str]:
    """The lines that are new."""
    return [line for line in after.splitlines() if line not in before.splitlines()]


def test_a_card_answers_what_it_says() -> None:
    ada, josiah = told(README).creators
    assert told(README) == Answers(
        title="Galaxies",
        license="mit",
        creators=(ada, josiah),
        datasets=("lab/sky",),
        intended_use="Catalogues of galaxies.",
    )
    assert ada == Creator(name="Ada Beispiel", place=0)
    assert (josiah.name, josiah.orcid, josiah.place) == (
        "Josiah Carberry",
        "https://orcid.org/0000-0002-1825-0097",
        1,
    )


def test_answers_that_stay_change_no_byte() -> None:
    assert applied(README, told(README), "model", name="net") == README


def test_only_the_line_of_a_changed_answer_changes() -> None:
    after = applied(README, replace(told(README), license="apache-2.0"), "model", name="net")
    assert changed(README, after) == ["license: apache-2.0 # by mail"]


def test_what_a_form_does_not_ask_of_a_person_stays_with_them() -> None:
    ada, josiah = told(README).creators
    known = replace(ada, orcid="0000-0002-1825-0097", affiliation="Brown University")
    after = applied(README, replace(told(README), creators=(josiah, known)), "model", name="net")
    first, second = parse(after.encode()).values["authors"]
    assert first == "Josiah Carberry (https://orcid.org/0000-0002-1825-0097)"
    assert second == {
        "name": "Ada Beispiel",
        "roles": ["Software"],
        "email": "ada@example.org",
        "orcid": "0000-0002-1825-0097",
        "affiliation": "Brown University",
    }
    assert "# agreed with the lab" in after
    assert "unheard: {of: [1, 2]}" in after


def test_a_person_who_was_a_text_becomes_a_mapping_when_more_is_said() -> None:
    readme = "---\nauthors: Ada Beispiel <ada@example.org>\n---\n# A\n\nText.\n"
    (ada,) = told(readme).creators
    answers = replace(told(readme), creators=(replace(ada, orcid="0000-0002-1825-0097"),))
    assert parse(applied(readme, answers, "model", name="net").encode()).values == {
        "authors": [
            {
                "name": "Ada Beispiel",
                "email": "ada@example.org",
                "orcid": "0000-0002-1825-0097",
            }
        ]
    }


@pytest.mark.parametrize("place", [None, 7, -1])
def test_a_place_that_is_none_is_found_by_the_name(place: int | None) -> None:
    ada = replace(told(README).creators[0], place=place)
    after = applied(README, replace(told(README), creators=(ada,)), "model", name="net")
    (author,) = parse(after.encode()).values["authors"]
    assert author["email"] == "ada@example.org"


def test_an_answer_taken_back_takes_its_key_away() -> None:
    after = applied(README, Answers(license="mit"), "model", name="net")
    assert parse(after.encode()).values == {"license": "mit", "unheard": {"of": [1, 2]}}
    assert after.endswith("Catalogues of galaxies.\n")


def test_a_license_of_ones_own_loses_its_name_with_it() -> None:
    readme = "---\nlicense: other\nlicense_name: ours\nlicense_link: LICENSE\n---\nText.\n"
    after = applied(readme, Answers(license="mit"), "model", name="net")
    assert parse(after.encode()).values == {"license": "mit"}


def test_the_purpose_becomes_the_text_of_a_card_without_one() -> None:
    answers = Answers(title="Galaxies", license="mit", intended_use="It sorts galaxies.")
    after = applied("", answers, "model", name="net")
    assert after == (
        "---\nmodel_name: Galaxies\nlicense: mit\nintended_use: It sorts galaxies.\n---\n\n"
        "# Galaxies\n\nIt sorts galaxies.\n"
    )
    assert applied(after, told(after), "model", name="net") == after


def test_a_data_set_is_asked_less() -> None:
    answers = Answers(title="Sky", license="cc-by-4.0", task="x", datasets=("y",))
    after = applied("# Sky\r\n", answers, "dataset", name="sky")
    assert parse(after.encode()).values == {"pretty_name": "Sky", "license": "cc-by-4.0"}
    assert after.endswith("---\r\n# Sky\r\n")


def test_what_no_card_can_hold_is_refused() -> None:
    with pytest.raises(Invalid, match="U\\+0007"):
        applied(README, replace(told(README), title="a\x07"), "model", name="net")


line = st.text("aZ0 :#-'\"[]{},&*!|>%@`~é銀", max_size=20).map(lambda text: " ".join(text.split()))
name = line.filter(bool)
person = st.builds(Creator, name=name, orcid=line, affiliation=line, ror=line)
anything = st.builds(
    Answers,
    title=line,
    license=st.sampled_from(["", "mit", "other"]),
    creators=st.lists(person, max_size=3).map(tuple),
    task=line,
    datasets=st.lists(name, max_size=3).map(tuple),
    intended_use=st.lists(name, max_size=3).map("\n".join),
)


def without_places(answers: Answers) -> Answers:
    return replace(answers, creators=tuple(replace(one, place=None) for one in answers.creators))


@settings(max_examples=50)
@given(anything, st.sampled_from(["", "# Only a heading\n", README]))
def test_what_is_answered_is_what_the_card_says_then(answers: Answers, readme: str) -> None:
    after = applied(readme, answers, "model", name="net")
    said = without_places(told(after))
    # Where the purpose is taken back, a heading of the text may still give one.
    assert said == answers or replace(said, intended_use="") == answers
    assert applied(after, told(after), "model", name="net") == after
