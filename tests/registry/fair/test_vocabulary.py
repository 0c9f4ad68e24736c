import json

import pytest
from rdflib import OWL, RDF, RDFS, SKOS, Graph, URIRef
from rdflib.compare import isomorphic

from registry.fair.activities import ActivityKind
from registry.fair.linked.context import HUB_TERMS, NAMESPACES
from registry.fair.linked.term import ACTIVITIES, DERIVATIONS
from registry.fair.linked.terms import TERMS
from registry.fair.linked.vocabulary import document, render_jsonld, render_turtle
from registry.fair.parts import RelationName
from registry.states import ArchitectureClass

HPC = NAMESPACES["hpc"]


@pytest.fixture(scope="module")
def declared() -> Graph:
    return Graph().parse(data=render_turtle(), format="turtle")


def test_both_forms_say_the_same(declared: Graph) -> None:
    assert json.loads(render_jsonld()) == document()
    assert isomorphic(declared, Graph().parse(data=render_jsonld(), format="json-ld"))


def test_each_term_says_what_it_is_and_where_it_is_declared(declared: Graph) -> None:
    assert len({term.name for term in TERMS}) == len(TERMS)
    for term in TERMS:
        node = URIRef(f"{HUB_TERMS}{term.name}")
        assert declared.value(node, RDF.type)
        assert declared.value(node, RDFS.label) or declared.value(node, SKOS.prefLabel)
        assert declared.value(node, RDFS.comment) or declared.value(node, SKOS.definition)
        assert declared.value(node, RDFS.isDefinedBy) == URIRef(HUB_TERMS.removesuffix("#"))


def test_it_is_an_ontology(declared: Graph) -> None:
    assert (URIRef(HUB_TERMS.removesuffix("#")), RDF.type, OWL.Ontology) in declared


def test_all_kinds_of_derivation_and_activity_have_a_term() -> None:
    theirs = {"fair4ml:fineTunedFrom", "prov:wasDerivedFrom"}
    names = {f"hub:{term.name}" for term in TERMS} | theirs
    assert set(DERIVATIONS) == set(RelationName.__args__)  # type: ignore[attr-defined]
    assert set(ACTIVITIES) == set(ActivityKind.__args__)  # type: ignore[attr-defined]
    assert {*DERIVATIONS.values(), *ACTIVITIES.values()} <= names


def test_derivations_specialise_provenance(declared: Graph) -> None:
    derived = URIRef(f"{NAMESPACES['prov']}wasDerivedFrom")
    for name in DERIVATIONS.values():
        prefix, local = name.split(":")
        if prefix == "hub":
            assert (URIRef(HUB_TERMS + local), RDFS.subPropertyOf, derived) in declared


def test_classes_of_architectures_are_mapped_to_the_hpc_ontology(declared: Graph) -> None:
    for one in ArchitectureClass:
        (broad,) = declared.objects(URIRef(f"{HUB_TERMS}{one.value}"), SKOS.broadMatch)
        assert str(broad).startswith(HPC)


def test_models_of_the_hpc_ontology_are_found(declared: Graph) -> None:
    model = URIRef(f"{NAMESPACES['fair4ml']}MLModel")
    assert (model, SKOS.closeMatch, URIRef(f"{HPC}AIModel")) in declared
