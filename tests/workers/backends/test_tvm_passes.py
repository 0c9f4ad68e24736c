"""Pipelines of TVM's passes: which orders are legal, and what an option means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.backends.tvm.passes import (
    CHANNELS_LAST,
    DEFAULT,
    FULL,
    HEAD,
    PASSES,
    TAIL,
    is_legal,
    option_of,
    pipeline_of,
    without,
)
from workers.engine.errors import InvalidCandidate


def test_named_pipelines_are_legal_and_known_by_their_names() -> None:
    assert pipeline_of("default").names == DEFAULT
    assert pipeline_of("full").names == FULL
    assert pipeline_of("channels_last").names == CHANNELS_LAST
    assert {*FULL, *CHANNELS_LAST} == set(PASSES)


def test_an_option_is_the_list_that_it_was_made_of() -> None:
    assert pipeline_of(option_of(FULL)).names == FULL


def test_what_every_network_needs_is_added() -> None:
    bare = pipeline_of("LegalizeOps")
    assert bare.body == (*HEAD, "LegalizeOps")
    assert "StaticPlanBlockMemory" not in bare.tail
    assert pipeline_of("default").tail == TAIL


@pytest.mark.parametrize(
    ("passes", "reason"),
    [
        ("", "there is no pass ''"),
        ("LegaliseOps", "there is no pass 'LegaliseOps'"),
        ("FoldConstant", "every pipeline needs LegalizeOps"),
        ("LegalizeOps,LegalizeOps", "LegalizeOps may occur only once"),
        ("FuseOps,LegalizeOps,FuseTIR", "FuseOps must come after AnnotateTIROpPattern"),
        ("LegalizeOps,AnnotateTIROpPattern,FuseOps", "FuseOps needs FuseTIR after it"),
        ("LegalizeOps,DecomposeOpsForInference", "DecomposeOpsForInference must come before"),
        ("ConvertLayout,FoldBatchnormToConv2D,LegalizeOps", "must come before ConvertLayout"),
        ("LegalizeOps,StaticPlanBlockMemory,FoldConstant", "must come after all other passes"),
        (
            "LegalizeOps,AnnotateTIROpPattern,FuseOps,FoldConstant,FuseTIR",
            "FoldConstant must come before FuseOps",
        ),
    ],
)
def test_an_illegal_pipeline_is_refused_with_the_reason(passes: str, reason: str) -> None:
    with pytest.raises(InvalidCandidate, match=reason):
        pipeline_of(passes)


@pytest.mark.parametrize("dropped", sorted(set(FULL) - {"LegalizeOps"}))
def test_dropping_a_pass_drops_what_cannot_stand_without_it(dropped: str) -> None:
    rest = without(FULL, dropped)
    assert dropped not in rest
    assert is_legal(rest)


def test_what_every_pipeline_needs_cannot_be_dropped() -> None:
    with pytest.raises(InvalidCandidate, match="LegalizeOps"):
        without(FULL, "LegalizeOps")


@given(st.lists(st.sampled_from(sorted(PASSES)), max_size=12))
def test_any_list_is_a_pipeline_or_refused(names: list[str]) -> None:
    if is_legal(names):
        assert pipeline_of(",".join(names)).names == tuple(names)
    else:
        with pytest.raises(InvalidCandidate):
            pipeline_of(names)
