"""Spaces of options."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.engine.space import Choice, Conditional, Flag, IntRange, Parameter, Plain, Space, plain
from workers.engine.space_json import space_from_dict, space_to_dict
from workers.engine.types import sha256_of


def rng_of(seed: int) -> Random:
    return Random(seed)  # noqa: S311


@st.composite
def plains(draw: st.DrawFn) -> Plain:
    match draw(st.sampled_from(["choice", "range", "flag"])):
        case "choice":
            values = draw(st.lists(st.text(max_size=3), min_size=1, max_size=4, unique=True))
            return Choice(tuple(values))
        case "range":
            low, step = draw(st.integers(-3, 3)), draw(st.integers(1, 3))
            return IntRange(low, low + step * draw(st.integers(0, 3)), step)
        case _:
            return Flag()


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    """Up to five parameters; each may depend on any one before it, conditional or not."""
    parameters: dict[str, Parameter] = {}
    for number in range(draw(st.integers(0, 5))):
        inner: Parameter = draw(plains())
        if parameters and draw(st.booleans()):
            parent = draw(st.sampled_from(sorted(parameters)))
            values = plain(parameters[parent]).values
            chosen = draw(st.lists(st.sampled_from(values), min_size=1, unique=True))
            inner = Conditional(parent, tuple(chosen), plain(inner))
        parameters[f"p{number}"] = inner
    return Space(parameters)


@given(spaces())
def test_enumeration_gives_every_configuration_once(space: Space) -> None:
    configurations = list(space.enumerate())
    assert len(configurations) == space.size
    assert len({sha256_of(options) for options in configurations}) == space.size
    assert all(space.contains(options) for options in configurations)


@given(spaces(), st.integers())
def test_a_sample_is_a_member_and_repeats_under_the_same_seed(space: Space, seed: int) -> None:
    sample = space.sample(rng_of(seed))
    assert space.contains(sample)
    assert sample == space.sample(rng_of(seed))


@given(spaces())
def test_a_space_survives_json(space: Space) -> None:
    again = space_from_dict(space_to_dict(space))
    assert again == space
    assert list(again.enumerate()) == list(space.enumerate())


@given(spaces(), st.integers())
def test_the_nearest_configuration_of_a_member_is_itself(space: Space, seed: int) -> None:
    sample = space.sample(rng_of(seed))
    assert space.nearest({**sample, "stranger": 1}) == sample
    assert space.nearest({}) == space.at(0)
    promised = space.with_promising(sample, sample)
    assert promised.promising == (sample,)
    assert space_from_dict(space_to_dict(promised)) == promised


@given(spaces(), st.integers())
def test_a_missing_or_additional_option_is_no_member(space: Space, seed: int) -> None:
    sample = space.sample(rng_of(seed))
    assert not space.contains({**sample, "stranger": 1})
    for name in sample:
        assert not space.contains({n: v for n, v in sample.items() if n != name})


def test_a_conditional_option_is_absent_when_its_condition_is_false() -> None:
    space = Space({"tiled": Flag(), "tile": Conditional("tiled", (True,), Choice((8, 16)))})
    assert list(space.enumerate()) == [
        {"tiled": False},
        {"tiled": True, "tile": 8},
        {"tiled": True, "tile": 16},
    ]
    assert not space.contains({"tiled": False, "tile": 8})
    assert not space.contains({"tiled": True})


def test_conditions_form_chains() -> None:
    space = Space(
        {
            "a": Choice(("x", "y")),
            "b": Conditional("a", ("x",), Flag()),
            "c": Conditional("b", (True,), IntRange(1, 3)),
        }
    )
    assert space.size == 5
    assert space.contains({"a": "x", "b": True, "c": 3})
    assert not space.contains({"a": "y", "c": 3})


@pytest.mark.parametrize("wrong", [1, 1.0, "True"])
def test_values_of_another_type_are_no_members(wrong: float | str) -> None:
    assert not Space({"on": Flag()}).contains({"on": wrong})


def test_each_configuration_is_drawn_with_the_same_probability() -> None:
    space = Space({"a": Flag(), "b": Conditional("a", (True,), IntRange(1, 9))})
    rng = rng_of(0)
    without_b = sum("b" not in space.sample(rng) for _ in range(2000))
    assert 150 < without_b < 250  # a tenth of them, where a coin for "a" would give half


@pytest.mark.parametrize("index", [-1, 2])
def test_an_index_outside_is_refused(index: int) -> None:
    with pytest.raises(IndexError):
        Space({"on": Flag()}).at(index)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Choice(()),
        lambda: Choice(("a", "a")),
        lambda: Choice((1, True)),
        lambda: IntRange(3, 2),
        lambda: IntRange(0, 5, step=2),
        lambda: IntRange(0, 4, step=0),
        lambda: IntRange(0, 4, log=True),
        lambda: Space({"b": Conditional("a", (1,), Flag()), "a": IntRange(0, 1)}),
        lambda: Space({"a": Flag(), "b": Conditional("a", (1,), Flag())}),
        lambda: Space({"a": Flag(), "b": Conditional("a", (), Flag())}),
        lambda: space_from_dict({"parameters": [{"name": "a", "kind": "real"}]}),
        lambda: Space({"a": Flag()}, ({"a": 2},)),
    ],
)
def test_an_inconsistent_space_is_refused(make: object) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match=r".+"):
        make()
