"""Similarity of networks: a score, and what they have in common."""

from typing import Any

import pytest

from registry.selectors.search.catalogue import catalogue_search
from registry.selectors.search.similarity import Similarity, similarity
from registry.tables import Graph
from tests.registry.search import rows

pytestmark = pytest.mark.django_db


def network(**columns: Any) -> Graph:
    given = {
        "graph_hash": "a",
        "architecture_class": "plain-cnn",
        "parameters": 100,
        "operators": {"Conv": 6, "Relu": 3, "Gemm": 1},
        "signature": {"inputs": [{"name": "x", "dtype": "float32", "shape": ["N", 3]}]},
        "embedding": [0.6, 0.8],
    }
    return Graph(**given | columns)


def test_an_equal_structure_scores_one() -> None:
    again = network(embedding=[1.0, 0.0], parameters=7)
    assert similarity(network(), again) == Similarity(
        1.0, ("same structure", "same inputs and outputs")
    )


def test_a_relative_says_what_it_shares() -> None:
    other = network(graph_hash="b", operators={"Conv": 6, "Add": 2}, parameters=109)
    assert similarity(network(), other) == Similarity(
        1.0,
        (
            "both are plain-cnn",
            "60 % of operators in common, most of them Conv",
            "same inputs and outputs",
            "nearly as many parameters",
        ),
    )


def test_a_stranger_shares_nothing() -> None:
    other = network(
        graph_hash="b",
        architecture_class="transformer",
        operators={"MatMul": 3},
        signature={"inputs": [{"name": "x", "dtype": "int64", "shape": ["N"]}]},
        parameters=10**6,
        embedding=[0.8, -0.6],
    )
    assert similarity(network(), other) == Similarity(0.0, ())


def test_names_of_tensors_and_empty_facts_tell_nothing() -> None:
    other = network(graph_hash="b", signature={}, operators={}, embedding=[0.0, 0.0])
    assert similarity(network(signature={}, operators={}), other) == Similarity(
        0.0, ("both are plain-cnn", "nearly as many parameters")
    )
    renamed = network(
        graph_hash="b", signature={"inputs": [{"name": "y", "dtype": "float32", "shape": ["N", 3]}]}
    )
    assert "same inputs and outputs" in similarity(network(), renamed).alike


def test_a_search_tells_the_similarity_of_each_result() -> None:
    rows.graph(rows.mlmodel("lab/reference"), structure="r", embedding=(1.0, 0.0))
    rows.graph(rows.mlmodel("lab/twin"), structure="r", embedding=(1.0, 0.0))
    rows.graph(rows.mlmodel("lab/near"), structure="n", embedding=(0.8, 0.6))
    rows.graph(rows.mlmodel("lab/other-kind"), structure="o", embedding=(1.0, 0.0, 0.0))
    page = catalogue_search(None, query="similar:lab/reference sort:name")
    scores = {
        row.full_name: page.similarities[row.pk].score
        for row in page.items
        if row.pk in page.similarities
    }
    assert scores == {"lab/twin": 1.0, "lab/near": 0.8}
    assert "lab/other-kind" in rows.names(page.items)
    assert catalogue_search(None).similarities == {}
