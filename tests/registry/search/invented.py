"""Signatures that hypothesis makes up."""

from hypothesis import strategies as st

from registry.search.signature import UNKNOWN_RANK, Signature, Tensor

dims = st.one_of(
    st.integers(0, 4), st.just("?"), st.from_regex(r"[0-9*]?[A-Za-z_.]*[A-Za-z_]", fullmatch=True)
)
shapes = st.one_of(st.just(UNKNOWN_RANK), st.lists(dims, max_size=3).map(tuple))
tensors = st.builds(
    Tensor,
    st.sampled_from(["float32", "int64", "map(int64,float32)", "sequence(string)", "bfloat16"]),
    shapes,
)
sides = st.lists(tensors, max_size=3).map(tuple)
any_signatures = st.builds(Signature, sides, sides)
