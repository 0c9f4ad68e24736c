"""How text becomes words."""

import pytest
import tantivy
from hypothesis import example, given, settings
from hypothesis import strategies as st

from registry.ids import NAME_PATTERN
from registry.search.schema import ANALYSER, SCHEMA, between, spellings, words


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


@settings(deadline=None, max_examples=30)
@given(
    st.lists(
        st.from_regex(f"{NAME_PATTERN}/{NAME_PATTERN}", fullmatch=True).map(str.lower),
        min_size=1,
        max_size=4,
        unique=True,
    )
)
@example(["to/to", "and/or", "0/1", "a-b/c.d_e--f"])
def test_any_name_bounds_a_list_of_names(names: list[str]) -> None:
    index = tantivy.Index(SCHEMA)
    index.register_tokenizer("words", ANALYSER)
    writer = index.writer(15_000_000, 1)
    for name in names:
        writer.add_document(tantivy.Document.from_dict({"by_name": name}, SCHEMA))
    writer.commit()
    index.reload()
    for bound in names:
        wanted = between("by_name", bound, "*")
        order = {"order_by_field": "by_name", "order": tantivy.Order.Asc}
        found = [name for name, _ in index.searcher().search(wanted, 10, **order).hits]
        assert found == sorted(name for name in names if name > bound)
