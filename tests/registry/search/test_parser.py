"""The language of the search box."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.errors import Invalid
from registry.search import signature as signatures
from registry.search.comparisons import Bound
from registry.search.parser import MAX_ITEMS, MAX_LENGTH, Query, parse
from registry.search.vocabulary import FILTERS, KEYS, SORTS

# Texts made of what the grammar is made of go deeper than texts of anything.
grammatical = st.lists(
    st.sampled_from([*KEYS, *(f"{key}:" for key in KEYS), '"', ":", " ", "x", "lab/x", "name", "["])
).map("".join)


def refusal(text: str) -> Invalid:
    with pytest.raises(Invalid) as refused:
        parse(text)
    return refused.value


def code_of(text: str) -> str:
    try:
        parse(text)
    except Invalid as refused:
        return refused.code
    return ""


def test_the_whole_grammar_is_read() -> None:
    query = parse(
        'galaxy "exact phrase" task:image-classification license:MIT tag:x tag:"two words"'
        " library:onnx class:residual-cnn by:lab target:x86-64-avx512 tolerance:int8"
        " latency:<5ms gain:>=2 latency:>1us"
        ' signature:"float32[N,3] -> float32[N,10]" similar:lab/Resnet sort:downloads'
    )
    assert query == Query(
        words=("galaxy",),
        phrases=("exact phrase",),
        filters=(
            ("architecture_class", ("residual-cnn",)),
            ("library", ("onnx",)),
            ("license", ("mit",)),
            ("namespace", ("lab",)),
            ("tag", ("two words", "x")),
            ("target", ("x86-64-avx512",)),
            ("task", ("image-classification",)),
        ),
        signatures=(signatures.parse("float32[N,3] -> float32[N,10]"),),
        bounds=(
            Bound("gain", ">=", Fraction(2)),
            Bound("latency", "<", Fraction(5_000_000)),
            Bound("latency", ">", Fraction(1_000)),
        ),
        tolerance="int8",
        similar_to="lab/Resnet",
        sort="downloads",
    )


def test_each_filter_is_read_as_its_help_writes_it() -> None:
    for one in FILTERS.values():
        query = parse(one.in_query)
        assert query != Query()
        assert query == parse("").with_filter(one.name, one.example)
        if one.alias:
            assert query == parse(one.in_query.replace(one.name, one.alias, 1))
    assert [parse(f"sort:{name}").sort for name in SORTS] == list(SORTS)


def test_an_empty_box_asks_for_everything() -> None:
    assert parse("") == parse(' \t\n "" ') == Query()


def test_keys_are_read_without_case_and_in_british_spelling() -> None:
    assert parse("TASK:x licence:mit") == parse("task:X license:MIT")


def test_the_last_quotation_mark_may_be_missing() -> None:
    assert parse('one "two three').phrases == ("two three",)
    assert parse('tag:"two words').filters_of("tag") == ("two words",)


def test_a_colon_means_nothing_in_a_phrase_or_after_anything_but_letters() -> None:
    assert parse('"http://example.org"').phrases == ("http://example.org",)
    assert parse("12:30 :x é:x").words == ("12:30", ":x", "é:x")


def test_an_unknown_key_is_refused_with_the_likely_one() -> None:
    refused = refusal("tsak:image-classification")
    assert refused.code == "invalid_query"
    assert "'tsak'. Did you mean task?" in refused.detail
    assert '"tsak:..."' in refused.hint


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tag: x", "tag has no value"),
        ('task:" "', "task has no value"),
        ("sort:nmae", "There is no order 'nmae'. Did you mean name?"),
        ("sort:name sort:name", "sort is given twice"),
        ("class:mpl", "There is no class 'mpl'. Did you mean mlp? Valid values are residual-cnn, "),
        (
            "tolerance:int4",
            "There is no tolerance 'int4'. Did you mean int8? Valid values are exact, ",
        ),
        (
            "tolerance:0.01",
            "There is no tolerance '0.01'. Valid values are exact, fp16, bf16, int8.",
        ),
        ("tolerance:int8 tolerance:fp16", "tolerance is given twice"),
        ("latency:<5", "does not say the unit of latency. Write it like latency:<5ms"),
        ("latensy:<5ms", "There is no filter 'latensy'. Did you mean latency?"),
        ("sort:latensy", "Did you mean latency? Orders are relevance, "),
        ("similar:resnet", "needs the full name"),
        ("similar:a/b similar:a/c", "similar is given twice"),
        ("x" * (MAX_LENGTH + 1), f"has {MAX_LENGTH + 1} characters; at most {MAX_LENGTH} are"),
        ("x " * (MAX_ITEMS + 1), f"has {MAX_ITEMS + 1} parts; at most {MAX_ITEMS} are"),
        ("abc \udc80", "Character 5 of the query is not valid Unicode"),
    ],
)
def test_a_wrong_query_is_refused(text: str, says: str) -> None:
    refused = refusal(text)
    assert refused.code == "invalid_query"
    assert says in str(refused)
    assert str(refused).encode()


def test_a_wrong_signature_keeps_its_own_code() -> None:
    assert refusal("signature:float32").code == "invalid_signature"


def test_parameters_add_to_the_box() -> None:
    query = parse("tag:a signature:int8[]").narrowed("tag", ["B", " b "]).with_signature("bool[]")
    assert query.filters_of("tag") == ("a", "b")
    assert [str(one) for one in query.signatures] == ["int8[]", "bool[]"]


def test_naming_the_same_model_twice_is_naming_it_once() -> None:
    assert parse("similar:a/b").with_similar("A/B").similar_to == "A/B"


@given(st.one_of(st.text(), grammatical))
def test_any_text_is_read_or_refused(text: str) -> None:
    assert code_of(text) in {"", "invalid_query", "invalid_signature"}


@given(st.text(st.characters(exclude_categories=["Z", "C"], exclude_characters='":'), min_size=1))
def test_a_word_stays_as_it_is_typed(word: str) -> None:
    assert parse(f"  {word}\n").words == (word,)


@pytest.mark.parametrize(
    ("word", "identifier"),
    [
        ("ark:/99999/h2abc", "ark:/99999/h2abc"),
        ("https://hub.example.org/ark:/99999/h2abc", "ark:/99999/h2abc"),
        ("doi:10.5281/zenodo.1", "doi:10.5281/zenodo.1"),
        ("https://doi.org/10.5281/zenodo.1", "doi:10.5281/zenodo.1"),
    ],
)
def test_identifiers_are_no_filters(word: str, identifier: str) -> None:
    assert parse(f"net {word} by:lab").identifiers == (identifier,)
    assert code_of(f"x{word}") == "invalid_query"
