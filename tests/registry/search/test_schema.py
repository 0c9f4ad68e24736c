"""How text becomes words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.search.schema import spellings, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lab/Digits-CNN_v2.1", ["lab", "digits", "cnn", "v2", "1"]),
        ("Überblick, café", ["uberblick", "cafe"]),
        ("&!? --", []),
        ("x" * 65, []),
    ],
)
def test_words_are_runs_of_letters_and_digits_without_case_and_accents(
    text: str, expected: list[str]
) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("resnet-50", "resnet50"),
        ("ResNet50", "resnet-50"),
        ("ResNet50", "res net"),
        ("my-resnet_50", "ResNet50"),
        ("BERTBase", "bert"),
        ("digits-cnn", "digitscnn"),
    ],
)
def test_names_are_found_however_they_are_written(name: str, query: str) -> None:
    assert set(words(query)) <= {*words(name), *words(spellings(name))}


@given(st.text())
def test_other_spellings_are_words_of_their_own(name: str) -> None:
    found = spellings(name).split()
    assert not set(found) & set(words(name))
    assert len(found) == len(set(found))
