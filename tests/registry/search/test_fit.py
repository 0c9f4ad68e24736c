"""Which models a tensor signature finds, by comparison and by the index's terms."""

import pytest
from hypothesis import given

from registry.search import fit
from registry.search.fit import fits
from registry.search.signature import Signature, parse
from tests.registry.search.invented import any_signatures


@pytest.mark.parametrize(
    ("question", "model", "answer"),
    [
        ("float32[N,3]", "float32[8,3] -> int64[8]", True),
        ("float32[?,3]", "float32[batch,3]", True),
        ("float32[8,3]", "float32[batch,3]", True),
        ("float32[8,3]", "float32[?,4]", False),
        ("float32[8,3]", "float32[8,3,1]", False),
        ("float32[8,3]", "float64[8,3]", False),
        ("float32[8,3]", "float32[8,3], float32[8,3]", False),
        ("int64[], float32[2]", "float32[2], int64[]", False),
        ("float32[2] -> float32[10]", "float32[2] -> float32[11]", False),
        ("-> float32[10]", "int8[1] -> float32[n]", True),
        ("float32[]", "float32[]", True),
        ("float32[0]", "float32[1]", False),
        ("float32[...]", "float32[1,2]", True),
        ("float32[1,2]", "float32[...]", True),
        ("float32[...]", "int8[...]", False),
    ],
)
def test_fits(question: str, model: str, *, answer: bool) -> None:
    assert fits(parse(question), parse(model)) is answer


@given(any_signatures, any_signatures)
def test_the_index_answers_as_comparison_does(question: Signature, model: Signature) -> None:
    held = fit.terms(model)
    answer = all(held.intersection(clause) for clause in fit.clauses(question))
    assert answer is fits(question, model)


@given(any_signatures)
def test_a_model_is_found_by_its_own_signature(signature: Signature) -> None:
    assert fits(signature, signature)
