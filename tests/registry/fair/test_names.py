"""Names of people, taken apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.fair.names import NameParts, name_parts


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Josiah Carberry", NameParts("Carberry", "Josiah")),
        ("Josiah Stinkney Carberry", NameParts("Carberry", "Josiah Stinkney")),
        ("Carberry, Josiah", NameParts("Carberry", "Josiah")),
        ("Ludwig van Beethoven", NameParts("Beethoven", "Ludwig", "van")),
        ("Ana de la Cruz", NameParts("Cruz", "Ana", "de la")),
        ("de la Cruz, Ana", NameParts("Cruz", "Ana", "de la")),
        ("Robert De Niro", NameParts("De Niro", "Robert")),
        ("Van Morrison", NameParts("Morrison", "Van")),
        ("Martin Luther King Jr.", NameParts("King", "Martin Luther", "", "Jr.")),
        ("King, Jr., Martin Luther", NameParts("King", "Martin Luther", "", "Jr.")),
        ("Martin Luther King, Jr.", NameParts("King", "Martin Luther", "", "Jr.")),
        ("García Márquez, Gabriel", NameParts("García Márquez", "Gabriel")),
        ("山田 太郎", NameParts("山田", "太郎")),
        ("김 철수", NameParts("김", "철수")),
        ("Cher", NameParts("Cher")),
        ("Ä, B, C, D", NameParts("Ä, B, C, D")),
        (", Given", NameParts(", Given")),
        ("", NameParts("")),
    ],
)
def test_a_name_is_taken_apart_as_its_author_would(name: str, parts: NameParts) -> None:
    assert name_parts(name) == parts


@given(st.text())
def test_no_letter_of_a_name_is_lost(name: str) -> None:
    parts = name_parts(name)
    actual = "".join((parts.family, parts.given_names, parts.particle, parts.suffix))
    assert sorted("".join(actual.split()).replace(",", "")) == sorted(
        "".join(name.split()).replace(",", "")
    )
    assert parts.family or not name.strip()
