"""ARKs: minted so that slips of the pen show, read however they were written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.fair import ark

NAAN = "12148"
characters = st.sampled_from(ark.BETANUMERIC)


def test_the_check_character_is_that_of_noid() -> None:
    """The example of the manual of NOID."""
    assert ark.check_character("13030/xf93gt2") == "q"
    assert ark.is_checked("13030", "xf93gt2q")


def test_names_are_minted_below_the_shoulder_with_a_check_character() -> None:
    names = {ark.mint(NAAN) for _ in range(200)}
    assert len(names) == 200
    for name in names:
        assert name.startswith(ark.SHOULDER)
        assert set(name[len(ark.SHOULDER) :]) <= set(ark.BETANUMERIC)
        assert ark.is_checked(NAAN, name)
        assert ark.parse(ark.written(NAAN, name)) == (NAAN, name)


@given(st.text(characters, min_size=10, max_size=10), st.integers(0, 10), characters)
def test_one_wrong_character_is_noticed(drawn: str, place: int, put: str) -> None:
    name = drawn + ark.check_character(f"{NAAN}/{drawn}")
    wrong = name[:place] + put + name[place + 1 :]
    assert ark.is_checked(NAAN, wrong) == (wrong == name)


@given(st.text(characters, min_size=10, max_size=10), st.integers(0, 9))
def test_two_neighbours_that_changed_places_are_noticed(drawn: str, place: int) -> None:
    name = drawn + ark.check_character(f"{NAAN}/{drawn}")
    one, other = name[place], name[place + 1]
    swapped = name[:place] + other + one + name[place + 2 :]
    assert ark.is_checked(NAAN, swapped) == (one == other)


@pytest.mark.parametrize(
    "text",
    [
        "ark:/12148/h2x7k4q9mp",
        "ark:12148/h2x7k4q9mp",
        "ARK:/12148/H2X7K4Q9MP",
        " ark:/12148/h2x7-k4q9-mp ",
        "ark:/12148/h2x7\u2010k4q9\u2013mp",
        "ark:/12148/h2x7\u00adk4q9mp",
    ],
)
def test_it_is_read_however_it_was_written(text: str) -> None:
    assert ark.parse(text) == ("12148", "h2x7k4q9mp")


@pytest.mark.parametrize(
    "text",
    ["", "ark:", "ark:/12148", "ark:/12148/", "12148/h2", "ark:/12148/a/b", "ark:/12148/a b",
     "ark:/12148/\x00", "https://example.org/ark:/12148/h2", "ark:/12148/h2?info", "ark:/é/h2"],
)  # fmt: skip
def test_what_is_none_is_none(text: str) -> None:
    assert ark.parse(text) is None


@given(st.text())
def test_no_text_breaks_the_reading(text: str) -> None:
    found = ark.parse(f"ark:/{text}")
    assert found is None or found.name.isalnum()


@pytest.mark.parametrize("naan", ["12148", "99999", "b5072"])
def test_numbers_to_mint_under(naan: str) -> None:
    assert ark.is_naan(naan)


@pytest.mark.parametrize("naan", ["", "1234", "ark:/12148", "12148/", "example"])
def test_numbers_nothing_is_minted_under(naan: str) -> None:
    assert not ark.is_naan(naan)
