"""SPDX 3.0.1: documents are as the shapes of SPDX's own model demand (SHACL)."""

import json
from dataclasses import replace
from typing import Any

import pyshacl
import pytest
from rdflib import Graph
from rdflib.namespace import SH

from registry.fair.bom import spdx
from tests.registry.fair.hostile import hostile
from tests.registry.fair.samples import DATASET, LEAST
from tests.validators.schemas import schema_at

pytestmark = pytest.mark.slow
_PUBLISHED = "https://spdx.org/rdf/3.0.1"


@pytest.fixture(scope="module")
def model() -> Graph:
    """Classes and shapes in one."""
    return Graph().parse(schema_at(f"{_PUBLISHED}/spdx-model.ttl"), format="turtle")


@pytest.fixture(scope="module")
def context() -> Any:
    return json.loads(schema_at(f"{_PUBLISHED}/spdx-context.jsonld").read_bytes())["@context"]


def faults(document: dict[str, Any], context: Any, model: Graph) -> list[str]:
    # The context is at hand; the document only names it.
    assert document["@context"] == f"{_PUBLISHED}/spdx-context.jsonld"
    text = json.dumps(document | {"@context": context})
    data = Graph().parse(data=text, format="json-ld")
    _, report, _ = pyshacl.validate(data, shacl_graph=model, ont_graph=model)
    assert isinstance(report, Graph)
    found = report.objects(None, SH.result)
    return [f"{report.value(one, SH.resultPath)} {one}" for one in found]


def test_documents_that_say_all_or_describe_data_pass(model: Graph, context: Any) -> None:
    # Together, under names that do not meet: what takes long is to read the shapes.
    document = spdx.document(hostile())
    other = json.dumps(spdx.document(replace(DATASET, pid=f"{DATASET.pid}d")))
    document["@graph"] += json.loads(other.replace("_:creation", "_:other"))["@graph"]
    assert faults(document, context, model) == []


def test_the_shapes_find_what_is_wrong(model: Graph, context: Any) -> None:
    document = spdx.document(LEAST)
    (package,) = [one for one in document["@graph"] if one["type"] == "ai_AIPackage"]
    package |= {
        "software_primaryPurpose": "amusement",
        "ai_typeOfModel": [3],
        "suppliedBy": document["@graph"][-1]["spdxId"],
    }
    named = {one.split()[0].rpartition("/")[2] for one in faults(document, context, model)}
    assert named == {"primaryPurpose", "typeOfModel", "suppliedBy"}
