"""CycloneDX 1.7 ML-BOM: its own validator takes it, and it says what the description says."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.fair.bom import cyclonedx
from registry.fair.bom.cyclonedx_parts import properties_of
from registry.fair.description import Description
from registry.fair.parts import Agent, Organization, Reference
from tests.registry.fair.hostile import TEXT, hostile
from tests.registry.fair.samples import EVERY, LEAST, MOST, WITHDRAWN
from tests.validators.environments import run

# Addresses are parsed by a grammar that takes a tenth of a second for each: once is enough. Of the
# forty parsers that are made of it, most of the time, few are asked for.
_VALIDATE = """
import functools, json, sys
import lark
Lark = lark.Lark
class Later:
    def __init__(self, *given, **named):
        self.made = functools.cache(lambda: Lark(*given, **named))
    def parse(self, *given, **named):
        return self.made().parse(*given, **named)
lark.Lark = Later
import rfc3987_syntax
lark.Lark = Lark
rfc3987_syntax.is_valid_syntax = functools.cache(rfc3987_syntax.is_valid_syntax)
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
validator = JsonStrictValidator(SchemaVersion.V1_7)
found = {}
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        errors = validator.validate_str(file.read(), all_errors=True)
    found[path] = [f"{one.data.json_path}: {one.data.message}" for one in errors or ()]
print(json.dumps(found))
"""
_MODELS = {name: one for name, one in EVERY.items() if one.kind == "model"}


def _model(description: Description) -> dict[str, Any]:
    component: dict[str, Any] = cyclonedx.document(description)["metadata"]["component"]
    return component


def _properties(part: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["value"] for one in part.get("properties", ())}


def _values(part: Any, key: str) -> Iterator[Any]:
    """All values of ``key`` anywhere within ``part``."""
    if isinstance(part, dict):
        if key in part:
            yield part[key]
        for value in part.values():
            yield from _values(value, key)
    elif isinstance(part, list):
        for value in part:
            yield from _values(value, key)


@pytest.mark.slow
def test_the_official_validator_takes_every_bill(tmp_path: Path) -> None:
    paths = {}
    for name, description in (_MODELS | {"hostile": hostile()}).items():
        paths[name] = tmp_path / f"{name}.cdx.json"
        paths[name].write_bytes(cyclonedx.render(description))

    found = json.loads(run("bom", "python", "-c", _VALIDATE, *map(str, paths.values())))

    assert found == {str(path): [] for path in paths.values()}


@pytest.mark.parametrize("description", _MODELS.values(), ids=_MODELS)
def test_a_bill_names_the_version(description: Description) -> None:
    document = cyclonedx.document(description)
    model = document["metadata"]["component"]

    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.7")
    assert model["bom-ref"] == description.pid
    assert model["name"] == description.name
    assert model["group"] == "lab"
    assert model["version"] == description.version
    assert model["publisher"] == description.hub.publisher.name
    assert model["swhid"] == [description.swhid, description.swhid_revision]
    assert model["pedigree"]["commits"] == [{"uid": description.oid}]
    addresses = {one["url"] for one in model["externalReferences"]}
    assert addresses >= {description.pid, description.landing}
    assert (description.crate_url in addresses) is description.has_crate


@pytest.mark.parametrize("description", _MODELS.values(), ids=_MODELS)
def test_every_reference_leads_to_one_part(description: Description) -> None:
    document = cyclonedx.document(description)
    names = list(_values(document, "bom-ref"))
    asked = list(_values(document, "ref"))
    asked += [one for many in _values(document, "dependsOn") for one in many]

    assert len(names) == len(set(names))
    assert set(asked) <= set(names)


def test_files_are_listed_with_their_digests() -> None:
    model = _model(MOST)
    digests = {one["name"]: one["hashes"][0]["content"] for one in model["components"]}

    assert digests == {file.path: file.sha256 for file in (*MOST.files, *MOST.tests)}
    assert _properties(model["components"][2])["hpcfair:fileSizeBytes"] == "4321"


def test_the_license_is_an_expression_with_its_address() -> None:
    assert _model(MOST)["licenses"] == [
        {
            "expression": "Apache-2.0",
            "expressionDetails": [
                {
                    "licenseIdentifier": "Apache-2.0",
                    "url": "https://spdx.org/licenses/Apache-2.0",
                }
            ],
            "acknowledgement": "declared",
        }
    ]


def test_the_model_card_says_what_it_is_for_and_how_good_it_is() -> None:
    card = _model(MOST)["modelCard"]
    parameters = card["modelParameters"]
    metric = card["quantitativeAnalysis"]["performanceMetrics"][0]

    assert parameters["task"] == "image-classification"
    assert parameters["architectureFamily"] == "residual-cnn"
    assert parameters["modelArchitecture"] == "GalaxyNet"
    assert parameters["inputs"] == [{"format": "image: float32[N, 3, 64, 64]"}]
    assert [one["name"] for one in parameters["datasets"]] == [one.name for one in MOST.datasets]
    assert parameters["datasets"][0]["contents"]["url"] == MOST.datasets[0].pid
    assert metric == {
        "type": "accuracy",
        "value": "0.981",
        "slice": "galaxy-zoo, test",
        "confidenceInterval": {"lowerBound": "0.975", "upperBound": "0.986"},
    }
    assert card["considerations"]["useCases"] == [MOST.intended_use]
    assert card["considerations"]["technicalLimitations"] == [MOST.limitations]


def test_builds_depend_on_the_model_and_on_the_tools_that_made_them() -> None:
    document = cyclonedx.document(MOST)
    build = document["components"][-1]
    needs = {one["ref"]: one.get("dependsOn") for one in document["dependencies"]}
    purls = {one["bom-ref"]: one.get("purl") for one in document["components"]}

    assert _properties(build)["hpcfair:target"] == "x86-64-avx512vnni"
    assert _properties(build)["hpcfair:option:precision"] == "int8"
    assert MOST.pid in needs[build["bom-ref"]]
    assert "pkg:pypi/openvino@2026.4.1" in {purls.get(ref) for ref in needs[build["bom-ref"]]}


def test_what_was_done_is_a_workflow_with_inputs_outputs_and_tools() -> None:
    document = cyclonedx.document(MOST)
    tune = document["formulation"][0]["workflows"][1]
    build = document["components"][-1]

    assert tune["uid"] == MOST.activities[1].url
    assert tune["taskTypes"] == ["build", "test"]
    assert tune["timeStart"] == "2026-03-01T12:00:05Z"
    assert tune["inputs"][0] == {"resource": {"ref": MOST.pid}}
    assert {"name": "seed", "value": "0"} in tune["inputs"][1]["parameters"]
    assert tune["outputs"] == [{"type": "artifact", "resource": {"ref": build["bom-ref"]}}]
    assert len(tune["resourceReferences"]) == 2
    assert _properties(tune)["hpcfair:environment:device"] == "bench-1"
    training = document["formulation"][0]["workflows"][-1]
    assert not {"timeStart", "timeEnd"} & training.keys()


def test_a_build_tells_quantiles_throughput_memory_and_energy() -> None:
    document = cyclonedx.document(MOST)
    metrics = document["components"][-1]["modelCard"]["quantitativeAnalysis"]["performanceMetrics"]
    values = {one["type"]: one["value"] for one in metrics}

    assert values["latency p99 in nanoseconds"] == "1500000"
    assert values["throughput in samples per second"] == "806.45"
    assert values["peak memory in bytes"] == "96468992"
    assert values["energy of a run in joules"] == "0.0425"
    again = _model(MOST)["modelCard"]["quantitativeAnalysis"]["performanceMetrics"][-1]
    assert again["slice"] == "x86-64-avx512vnni, openvino, measured by others"
    told = _properties(_model(MOST)["modelCard"])
    assert told["hpcfair:assessor:f1, galaxy-zoo"] == "third party"
    assert told["hpcfair:scanAccepted"] == "true"
    assert told["hpcfair:tunedOn:x86-64-avx512vnni:cores"] == "2"


def test_two_addresses_of_one_thing_are_one_input() -> None:
    twice = replace(
        MOST.activities[0],
        used=(MOST.pid, MOST.landing, "https://a.example/a b", "https://a.example/a%20b"),
    )
    [made] = cyclonedx.document(replace(LEAST, activities=(twice,)))["formulation"][0]["workflows"]

    assert made["inputs"] == [
        {"resource": {"ref": MOST.pid}},
        {"resource": {"externalReference": {"type": "other", "url": "https://a.example/a%20b"}}},
    ]


def test_what_is_no_address_is_no_reference() -> None:
    lying = replace(MOST, code=Reference(url="javascript:alert(1)"), papers=(Reference(url="x"),))
    kinds = {one["type"] for one in _model(lying)["externalReferences"]}

    assert not {"vcs", "documentation"} & kinds


def test_what_is_absent_is_not_mentioned() -> None:
    document = cyclonedx.document(LEAST)
    model = document["metadata"]["component"]

    assert "components" not in document
    assert "formulation" not in document
    assert not {"authors", "licenses", "description", "modelCard", "tags"} & model.keys()
    assert _properties(model) == {
        "hpcfair:title": "galaxy-cnn",
        "hpcfair:status": "public",
        "hpcfair:access": "open access",
        "hpcfair:created": "2026-03-01T12:00:00Z",
        "hpcfair:published": "2026-03-01T12:00:05Z",
    }
    assert None not in list(_values(document, "value"))


def test_a_withdrawn_version_says_when_and_why() -> None:
    told = _properties(_model(WITHDRAWN))

    assert told["hpcfair:status"] == "withdrawn"
    assert told["hpcfair:withdrawn"] == "2026-04-02T08:30:00Z"
    assert told["hpcfair:withdrawnBecause"] == "Superseded; found to be wrong."


def test_the_manufacturer_is_named_where_there_is_one_only() -> None:
    brown = MOST.creators[0]
    elsewhere = Agent(name="Else", affiliations=(Organization(name="Elsewhere"),))

    alone = _model(replace(MOST, creators=(brown, replace(brown, name="Also Brown"))))
    assert alone["manufacturer"]["url"] == ["https://ror.org/05gq02987"]
    assert "manufacturer" not in _model(replace(MOST, creators=(brown, elsewhere)))
    # Where the second creator works is not known.
    assert "manufacturer" not in _model(MOST)


def test_a_later_bill_of_a_version_has_a_higher_number() -> None:
    earlier, later = cyclonedx.document(LEAST), cyclonedx.document(MOST)

    assert earlier["serialNumber"] == later["serialNumber"]
    assert earlier["version"] < later["version"]


def test_the_same_description_gives_the_same_bytes() -> None:
    assert cyclonedx.render(MOST) == cyclonedx.render(replace(MOST))


def test_what_strangers_type_comes_through_as_they_typed_it() -> None:
    model = json.loads(cyclonedx.render(hostile()))["metadata"]["component"]

    assert model["description"] == TEXT
    assert model["authors"][0] == {"name": TEXT}
    assert model["supplier"]["contact"] == [{"name": TEXT}]
    assert model["modelCard"]["considerations"]["useCases"] == [TEXT]


@settings(max_examples=30)
@given(st.text(min_size=1))
def test_any_text_survives(text: str) -> None:
    read = json.loads(cyclonedx.render(replace(LEAST, description=text, limitations=text)))
    model = read["metadata"]["component"]

    assert model["description"] == text
    assert model["modelCard"]["considerations"]["technicalLimitations"] == [text]


def test_properties_leave_out_what_is_absent() -> None:
    assert properties_of(one="1", two=None, three="") == [{"name": "hpcfair:one", "value": "1"}]
