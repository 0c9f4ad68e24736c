"""Faulty cards: what is wrong is told by its line and left out, and the rest stays."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.fair.card.card import read
from registry.fair.card.contradictions import Computed, contradictions
from registry.fair.card.values import MAX_FINDINGS
from registry.fair.parts import Agent, Reference
from registry.validation.card import Card, parse
from tests.registry.fair.cards import facts_of, told
from tests.registry.fair.samples import MOST


@pytest.mark.parametrize(
    ("matter", "line", "field", "code", "words"),
    [
        (
            "authors:\n- name: A\n  orcid: 0000-0002-1825-0098",
            4,
            "authors[0].orcid",
            "orcid_invalid",
            "0097",
        ),
        ("authors:\n- A\n-\n- B", 4, "authors[1]", "value_empty", "empty"),
        ("authors: {orcid: 0000-0002-1825-0097}", 2, "authors", "name_missing", "name"),
        ("authors: [[A]]", 2, "authors[0]", "value_form", "text"),
        ("authors:\n  name: A\n  orchid: x", 4, "authors.orchid", "key_unknown", "'orcid'"),
        (
            "authors:\n  name: A\n  roles:\n  - Sofware",
            5,
            "authors.roles[0]",
            "role_unknown",
            "'Software'",
        ),
        ("authors: A (https://orcid.org/0000)", 2, "authors", "orcid_invalid", "0000"),
        ("a: 1\ncontact: {name: A, email: x}", 3, "contact.email", "email_invalid", "mail"),
        ("funding:\n  ror: 05gq02987", 2, "funding", "name_missing", "funder"),
        ("funding: {funder: A,\n  ror: 05gq02988}", 3, "funding.ror", "ror_invalid", "05gq02987"),
        ("code: javascript:alert(1)", 2, "code", "url_invalid", "http"),
        ("papers:\n- https://", 3, "papers[0]", "url_invalid", "host"),
        ("papers: [2001.10]", 2, "papers[0]", "value_form", "quotes"),
        ("papers: [{title: A}]", 2, "papers[0]", "url_missing", "address"),
        ("tags:\n- a\n- arxiv:1", 4, "tags[1]", "arxiv_invalid", "arXiv"),
        ("doi: 11/2", 2, "doi", "doi_invalid", "DOI"),
        ("language: [en, xx]", 2, "language[1]", "language_unknown", "'xx'"),
        ("license: mitt", 2, "license", "license_unknown", "MIT"),
        ("license: other", 2, "license", "license_missing", "license_name"),
        ("datasets:\n- null", 3, "datasets[0]", "value_empty", "empty"),
        ("test_datasets:\n- {a: 1}", 3, "test_datasets[0]", "value_form", "text"),
        ("base_model: '@x'", 2, "base_model", "name_missing", "names no model"),
        (
            "base_model_relation: quantizd",
            2,
            "base_model_relation",
            "relation_unknown",
            "'quantized'",
        ),
        ("version: 1.10", 2, "version", "version_number", "quotes"),
        ("co2_eq_emissions: much", 2, "co2_eq_emissions", "emissions_form", "grams"),
        (
            "co2_eq_emissions:\n  emissions: -1",
            3,
            "co2_eq_emissions.emissions",
            "emissions_form",
            "grams",
        ),
        ("model-index: accuracy 0.9", 2, "model-index", "model_index_form", "list"),
        ("model-index:\n- name: x", 3, "model-index[0]", "model_index_form", "results"),
        (
            "model-index:\n- results:\n  - dataset: z\n    metrics: []",
            4,
            "model-index[0].results[0]",
            "model_index_form",
            "task",
        ),
        (
            "model-index:\n- results:\n  - task: t\n    dataset: z\n    metrics:\n    - type: acc",
            7,
            "model-index[0].results[0].metrics[0]",
            "model_index_form",
            "value",
        ),
        ("ethics: " + "x" * 20_001, 2, "ethics", "text_long", "20001"),
    ],
)
def test_what_is_faulty_is_told_by_its_line(
    matter: str, line: int, field: str, code: str, words: str
) -> None:
    (finding,) = facts_of(matter).findings
    assert (finding.line, finding.field, finding.code) == (line, field, code)
    assert words in finding.message + finding.fix


def test_what_is_faulty_is_left_out_and_the_rest_stays() -> None:
    facts = facts_of(
        "authors:\n- {name: A, orcid: 1, roles: [x, Software]}\n-\n- B\n"
        "papers: [x, 10.5072/y]\nlanguage: [xx, en]\nlicense: nonsense"
    )
    assert facts.creators == (Agent(name="A", roles=("Software",)), Agent(name="B"))
    assert facts.papers == (Reference(url="https://doi.org/10.5072/y"),)
    assert (facts.languages, facts.license) == (("en",), None)
    assert [finding.line for finding in facts.findings] == [3, 3, 4, 6, 7, 8]


def test_no_more_is_told_than_somebody_reads() -> None:
    facts = facts_of("papers:\n" + "- x\n" * 900)
    assert len(facts.findings) == MAX_FINDINGS


def test_a_short_description_is_told_where_it_stands() -> None:
    facts = facts_of("a: 1", "\n# Title\n\nShort.\n")
    assert told(facts) == [(7, "description", "description_short")]
    assert facts.description == "Short."


def test_a_circle_of_base_models_is_told_and_left_out() -> None:
    tree = {"lab/b": ["lab/c"], "lab/c": ["lab/x", "Lab/A"], "lab/x": ["lab/x"], "lab/d": ["lab/x"]}
    facts = facts_of(
        "base_model:\n- lab/b\n- lab/d", repository="lab/a", parents=lambda name: tree.get(name, [])
    )
    assert [base.source for base in facts.bases] == ["lab/d"]
    (finding,) = facts.findings
    assert (finding.line, finding.code) == (3, "base_model_circular")
    assert "lab/a from lab/b from lab/c from Lab/A" in finding.message


def test_a_network_made_from_itself_is_a_circle() -> None:
    assert told(facts_of("base_model: lab/a", repository="lab/a")) == [
        (2, "base_model", "base_model_circular")
    ]


@pytest.mark.parametrize(
    ("matter", "words"),
    [
        ("library_name: openvino", "no file ends in .xml"),
        ("license: mit", "LICENSE contains Apache-2.0"),
        ("parameters: 1228075", "1228074"),
        ("model_size: 7B", "1228074"),
        ("opset: 13", "17"),
    ],
)
def test_a_card_that_contradicts_the_files_is_told(matter: str, words: str) -> None:
    (finding,) = contradictions(parse(f"---\n{matter}\n---\n".encode()), computed())
    assert (finding.line, finding.severity) == (2, "warning")
    assert words in finding.message


@pytest.mark.parametrize(
    "matter",
    [
        "library_name: onnx",
        "library_name: transformers",
        "license: apache-2.0",
        "license: no such license",
        "parameters: 1,228,074",
        "model_size: 1.2M parameters",
        "opset: 17",
    ],
)
def test_a_card_that_agrees_with_the_files_is_fine(matter: str) -> None:
    assert contradictions(parse(f"---\n{matter}\n---\n".encode()), computed()) == ()


def computed() -> Computed:
    return Computed(
        network=MOST.network,
        paths=tuple(file.path for file in MOST.files),
        license_text="Apache License\nVersion 2.0, January 2004\n",
    )


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "url", "results", "task", "value"]), inner)
    ),
    max_leaves=10,
)
known = st.sampled_from(
    [
        *("authors", "contact", "funding", "papers", "code", "model-index", "co2_eq_emissions"),
        *("validation_datasets", "version", "doi", "ethics", "unheard"),
    ]
)


@settings(deadline=None, max_examples=60)
@given(st.dictionaries(known, anything, max_size=4), st.text(max_size=40))
def test_whatever_a_card_holds_it_is_read(values: dict[str, Any], body: str) -> None:
    card = replace(Card(), values=values, body=body)
    facts = read(card)
    assert all(finding.message and finding.fix for finding in facts.findings)
    assert facts.unknown == {key: values[key] for key in values if key == "unheard"}
    json.dumps([finding.line for finding in facts.findings + contradictions(card, computed())])
