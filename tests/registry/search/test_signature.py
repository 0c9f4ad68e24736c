"""Tensor signatures: reading and writing."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from registry.errors import Invalid
from registry.search import signature as signatures
from registry.search.signature import DTYPES, UNKNOWN_RANK, Signature, Tensor
from tests.registry.search.invented import any_signatures


def asked(text: str) -> Signature:
    return signatures.parse(text)


def code_of(text: str) -> str:
    try:
        asked(text)
    except Invalid as refused:
        return refused.code
    return ""


def test_the_grammar_is_read() -> None:
    assert asked(" float32[N,3, 64,? ] ,int64[]->bfloat16[ N ]") == Signature(
        (Tensor("float32", ("N", 3, 64, "?")), Tensor("int64")), (Tensor("bfloat16", ("N",)),)
    )
    assert asked("string[2]") == Signature((Tensor("string", (2,)),))
    assert asked("-> bool[]") == Signature((), (Tensor("bool"),))
    assert asked("int8[ ... ]") == Signature((Tensor("int8", UNKNOWN_RANK),))
    assert asked("sequence( map(int64, float32))[]").inputs[0].dtype == (
        "sequence(map(int64,float32))"
    )
    assert asked("int8[past  + 1, 2*N,_]").inputs[0].dims == ("past + 1", "2*N", "_")


@given(any_signatures)
def test_what_is_written_is_read_back(signature: Signature) -> None:
    assume(signature != Signature())
    assert asked(str(signature)) == signature


@pytest.mark.parametrize("dtype", sorted(DTYPES))
def test_every_dtype_is_known(dtype: str) -> None:
    assert asked(f"{dtype}[?]").inputs[0].dtype == dtype


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "Expected a dtype at character 1"),
        ("float32", "Expected '[' at character 8 of the signature, found the end"),
        ("float32[3", "Expected ']' at character 10"),
        ("float32[N,,3]", "at character 11 of the signature, found ','"),
        ("float32[-1]", "(an integer, a name, or ? for any) at character 9"),
        ("flot32[3]", "Did you mean float32?"),
        ("float32[3] int64[3]", "Expected ',' or '->' or the end at character 12"),
        ("float32[3] ->", "Expected a dtype at character 14"),
        ("float32[3] -> int8[] -> int8[]", "at character 22"),
        ("sequence[3]", "Expected '(' at character 9"),
        ("map(int8,int)[]", "Expected a dtype at character 10"),
        ("float32[\ud800]", "at character 9"),
        ("optional(" * 111, "Expected a dtype at character 1000"),
        ("float32[9" * 200, "has 1800 characters; at most 1000 are allowed"),
    ],
)
def test_a_wrong_signature_is_refused_with_its_position(text: str, says: str) -> None:
    with pytest.raises(Invalid) as refusal:
        asked(text)
    assert refusal.value.code == "invalid_signature"
    assert says in refusal.value.detail
    assert str(refusal.value).encode()


def test_the_refusal_shows_an_example_that_is_right() -> None:
    with pytest.raises(Invalid) as refusal:
        asked("?")
    example = refusal.value.hint.removeprefix("Write it like ")
    assert str(asked(example)) == example


@given(st.text(st.sampled_from("float32int64[],?->N 10_.\n\0é"), max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    assert code_of(text) in {"", "invalid_signature"}


def test_facts_of_a_graph_become_a_signature() -> None:
    facts = {
        "inputs": [
            {"name": "x", "dtype": "float32", "shape": ["N", 3, "past  + 1", "a[0]", None, -1]},
            {"name": "y", "dtype": "int64", "shape": ["..."]},
        ],
        "outputs": [{"name": "z", "dtype": "sequence(float32)", "shape": []}],
    }
    text = "float32[N,3,past + 1,?,?,?], int64[...] -> sequence(float32)[]"
    assert str(signatures.of_facts(facts)) == text
    assert asked(text) == signatures.of_facts(facts)
    assert str(signatures.of_facts({"inputs": [{"name": "x"}]})) == "unknown[...]"
