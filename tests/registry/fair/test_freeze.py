"""A record outlives its rows: frozen as JSON, it is read again as it was."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.fair.activities import Activity, BuildDescription, FairScore, Withdrawal
from registry.fair.description import Description
from registry.fair.formats import formats_of
from registry.fair.freeze import dump, load
from registry.fair.parts import (
    Agent,
    FileDescription,
    Funding,
    License,
    NetworkDescription,
    QualityEvaluation,
)
from tests.registry.fair.samples import DATASET, LEAST, MOST
from tests.registry.shopfloor import json_values

SAMPLES = pytest.mark.parametrize("sample", [LEAST, MOST, DATASET], ids=["least", "most", "data"])


def through_json(description: Description) -> Description:
    """As a database keeps it."""
    return load(json.loads(json.dumps(dump(description), allow_nan=False)))


def some(kind: type) -> "st.SearchStrategy[tuple[object, ...]]":
    return st.lists(st.from_type(kind), max_size=2).map(tuple)


drawn = st.builds(
    replace,
    st.just(LEAST),
    title=st.text(),
    withdrawal=st.none() | st.from_type(Withdrawal),
    creators=some(Agent),
    funding=some(Funding),
    license=st.none() | st.from_type(License),
    files=some(FileDescription),
    network=st.none() | st.from_type(NetworkDescription),
    evaluations=some(QualityEvaluation),
    activities=some(Activity),
    builds=some(BuildDescription),
    fair=st.none() | st.from_type(FairScore),
    unknown=st.dictionaries(st.text(max_size=5), json_values, max_size=2),
)


@SAMPLES
def test_what_was_frozen_is_as_it_was(sample: Description) -> None:
    assert through_json(sample) == sample


@SAMPLES
def test_every_serialisation_of_it_is_the_same(sample: Description) -> None:
    again = through_json(sample)
    for one in formats_of(sample.kind):
        assert one.render(again) == one.render(sample), one.name


@given(drawn)
@settings(max_examples=15)
def test_whatever_it_holds_can_be_stored_and_read(description: Description) -> None:
    frozen = dump(description)
    assert dump(load(json.loads(json.dumps(frozen, allow_nan=False)))) == frozen


def test_what_no_database_stores_is_replaced() -> None:
    title = through_json(replace(LEAST, title="a\x00b\ud800c")).title
    assert title == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c"


def test_numbers_stay_what_they_are() -> None:
    odd = replace(LEAST, unknown={"many": 10**400, "none": float("nan"), "half": 0.5, "yes": True})
    assert through_json(odd).unknown == {"many": 10**400, "none": "nan", "half": 0.5, "yes": True}


def test_what_an_earlier_hub_did_not_know_is_absent() -> None:
    frozen = dump(MOST)
    for name in ("tests", "fair", "derived_from", "doi", "activities"):
        del frozen[name]
    expected = replace(MOST, tests=(), fair=None, derived_from=(), doi=None, activities=())
    assert load(frozen) == expected


def test_what_a_later_hub_no_longer_knows_is_passed_over() -> None:
    frozen = dump(MOST) | {"mood": "blue"}
    frozen["hub"] |= {"colour": "green"}
    assert load(frozen) == MOST


def test_what_is_no_description_is_refused() -> None:
    for data in ({}, {"name": "galaxy-cnn"}):
        with pytest.raises(TypeError):
            load(data)
