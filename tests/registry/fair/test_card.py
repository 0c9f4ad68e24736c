"""Cards: what they say is taken, and what they do not say is not."""

import re
from dataclasses import fields
from pathlib import Path

import huggingface_hub
import pytest

from registry.fair.card.card import CardFacts, read
from registry.fair.card.links import Base
from registry.fair.card.texts import TEXT_KEYS
from registry.fair.description import Description
from registry.fair.parts import (
    Agent,
    DatasetUse,
    Emissions,
    Funding,
    License,
    Organization,
    QualityEvaluation,
    Reference,
)
from registry.validation.card import Card, parse
from tests.registry.fair.cards import facts_of, told

SPDX = "https://spdx.org/licenses"
OWN = "license: other\nlicense_name: own"
CARD = """---
model_name: Galaxy CNN
license: apache-2.0
pipeline_tag: image-classification
library_name: onnx
language: [en, deu, code]
tags: [galaxy, "arxiv:1810.03993", 2024, galaxy, "doi:10.5072/x"]
authors:
- name: Josiah Carberry
  orcid: 0000-0002-1825-0097
  affiliation: {name: Brown University, ror: 05gq02987}
  roles: [software, Writing - original draft]
- Ada Beispiel <ada@example.org>
- {name: Example Lab, organization: true, url: "https://example.org"}
contributors: Grace Helper
contact: ada@example.org
funding:
- {funder: European Commission, ror: 00k4n6c32, award: 101017207, title: FAIR galaxies}
- funder: {name: A Foundation}
limitations: Trained on bright galaxies only.
code: https://github.com/example/galaxy-cnn
papers: [1810.03993, {doi: 10.1038/s41597-022-01712-9, title: FAIR for models}]
version: v2
doi: 10.5072/galaxy
datasets: lab/galaxies
validation_datasets: [doi:10.5072/zoo]
test_datasets: ["https://example.org/ark:/99999/z"]
base_model: lab/galaxy-base@v1
base_model_relation: fine-tune
co2_eq_emissions: {emissions: 120, source: codecarbon, hardware_used: 1 x H200}
model-index:
- name: x
  results:
  - task: {type: image-classification}
    dataset: {name: Zoo, type: zoo, split: test}
    metrics: [{type: accuracy, value: 0.98}, {type: f1, value: high}]
    source: {name: paper, url: "https://example.org/paper"}
my_key: {a: [1, null]}
---
# Galaxy CNN

Sorts images of galaxies by their shape, <b>quickly</b> & well, for surveys.

## Uses

### Direct Use

Sorting. <script>alert("x")</script>

### Out-of-Scope Use

Stars.

## Bias, Risks, and Limitations

Not taken: the key wins.
"""


def test_every_key_is_read() -> None:
    facts = read(parse(CARD.replace("[1810.03993,", "['1810.03993',").encode()))
    ada = Agent(name="Ada Beispiel", email="ada@example.org")
    brown = Organization(name="Brown University", ror="https://ror.org/05gq02987")
    assert facts == CardFacts(
        title="Galaxy CNN",
        description="Sorts images of galaxies by their shape, quickly & well, for surveys.",
        body=facts.body,
        version="v2",
        creators=(
            Agent(
                name="Josiah Carberry",
                orcid="https://orcid.org/0000-0002-1825-0097",
                affiliations=(brown,),
                roles=("Software", "Writing – original draft"),
            ),
            ada,
            Agent(name="Example Lab", kind="organization", url="https://example.org"),
        ),
        contributors=(Agent(name="Grace Helper"),),
        contact=ada,
        funding=(
            Funding(
                funder=Organization(name="European Commission", ror="https://ror.org/00k4n6c32"),
                award="101017207",
                title="FAIR galaxies",
            ),
            Funding(funder=Organization(name="A Foundation")),
        ),
        license=License(expression="Apache-2.0", uris=("https://spdx.org/licenses/Apache-2.0",)),
        use_restrictions=None,
        keywords=("galaxy", "2024"),
        languages=("en", "de"),
        task="image-classification",
        library="onnx",
        datasets=(
            DatasetUse(name="lab/galaxies", role="trained"),
            DatasetUse(
                name="doi:10.5072/zoo",
                role="validated",
                url="https://doi.org/10.5072/zoo",
                pid="https://doi.org/10.5072/zoo",
            ),
            DatasetUse(
                name="https://example.org/ark:/99999/z",
                role="tested",
                url="https://example.org/ark:/99999/z",
                pid="https://example.org/ark:/99999/z",
            ),
        ),
        model_index=(
            {
                "name": "x",
                "results": [
                    {
                        "task": {"type": "image-classification"},
                        "dataset": {"name": "Zoo", "type": "zoo", "split": "test"},
                        "metrics": [
                            {"type": "accuracy", "value": 0.98},
                            {"type": "f1", "value": "high"},
                        ],
                        "source": {"name": "paper", "url": "https://example.org/paper"},
                    }
                ],
            },
        ),
        evaluations=tuple(
            QualityEvaluation(
                task="image-classification",
                dataset="Zoo",
                metric=metric,
                value=value,
                by="author",
                split="test",
                url="https://example.org/paper",
            )
            for metric, value in (("accuracy", 0.98), ("f1", "high"))
        ),
        intended_use='Sorting. <script>alert("x")</script>',
        out_of_scope="Stars.",
        limitations="Trained on bright galaxies only.",
        ethics=None,
        usage=None,
        code=Reference(url="https://github.com/example/galaxy-cnn"),
        papers=(
            Reference(url="https://doi.org/10.48550/arXiv.1810.03993"),
            Reference(url="https://doi.org/10.1038/s41597-022-01712-9", title="FAIR for models"),
            Reference(url="https://doi.org/10.5072/x"),
            Reference(url="https://doi.org/10.5072/galaxy"),
        ),
        bases=(Base(source="lab/galaxy-base", relation="finetune", revision="v1"),),
        emissions=Emissions(co2e_kg=0.12, source="codecarbon", hardware="1 x H200"),
        unknown={"my_key": {"a": [1, None]}},
        findings=(),
    )


def test_the_card_speaks_the_words_of_a_description() -> None:
    own = {field.name for field in fields(CardFacts)} - {"bases", "findings"}
    assert own <= {field.name for field in fields(Description)}


@pytest.mark.parametrize("card", [Card(), Card(body="\n\n# Title\n"), parse(b"---\n---\n")])
def test_absent_stays_absent(card: Card) -> None:
    facts = read(card)
    said = {field.name for field in fields(facts) if getattr(facts, field.name)}
    assert said <= {"body"}


def test_the_templates_words_for_nothing_are_nothing() -> None:
    body = "[More Information Needed]\n\n## Uses\n\n<!-- who? -->\n[More Information Needed]\n"
    facts = facts_of("a: 1", body)
    assert (facts.description, facts.intended_use, facts.findings) == (None, None, ())


def test_the_hugging_face_template_as_it_comes_says_nothing() -> None:
    template = Path(huggingface_hub.__file__).parent / "templates" / "modelcard_template.md"
    blanks = re.compile(r"\{\{.*?\}\}|^---$.*?^---$", re.DOTALL | re.MULTILINE)
    facts = read(Card(body=blanks.sub("[More Information Needed]", template.read_text())))
    assert not [key for key in TEXT_KEYS if getattr(facts, key)]


def test_a_heading_below_a_known_one_belongs_to_it() -> None:
    body = "## Limitations\n\nFew.\n\n### In winter\n\nMany.\n\n## Other\n\nNot this.\n"
    assert facts_of("a: 1", body).limitations == "Few.\n\nIn winter\n\nMany."


@pytest.mark.parametrize(
    ("matter", "uris", "name"),
    [
        ("license: [mit, isc]", [f"{SPDX}/MIT", f"{SPDX}/ISC"], None),
        ("license: GPL-2.0-only WITH Bison-exception-2.2", [f"{SPDX}/GPL-2.0-only"], None),
        ("license: openrail", ["https://h/LICENSE"], "openrail"),
        (f"{OWN}\nlicense_link: https://x.org/l", ["https://x.org/l"], "own"),
        (f"{OWN}\nlicense_link: ./docs/TERMS", ["https://h/docs/TERMS"], "own"),
    ],
)
def test_licenses_have_addresses(matter: str, uris: list[str], name: str | None) -> None:
    files = {"LICENSE": "https://h/LICENSE", "docs/TERMS": "https://h/docs/TERMS"}
    license_ = facts_of(matter, files=files).license
    assert license_ is not None
    assert (list(license_.uris), license_.name) == (uris, name)


def test_a_license_link_to_no_file_is_told() -> None:
    facts = facts_of(f"{OWN}\nlicense_link: TERMS", files={})
    assert told(facts) == [(4, "license_link", "license_link_missing")]
    assert facts.license == License(expression="LicenseRef-own", uris=(), name="own")


@pytest.mark.parametrize(
    ("matter", "relation"),
    [
        ("base_model: a/b", None),
        ("base_model: [a/b, c/d]", "merge"),
        ("base_model: a/b\ntags: [mergekit]", "merge"),
        ("base_model: a/b\nlibrary_name: peft", "adapter"),
        ("base_model: a/b\nbase_model_relation: Quantised", "quantized"),
    ],
)
def test_the_relation_to_a_base_is_never_invented(matter: str, relation: str | None) -> None:
    assert {base.relation for base in facts_of(matter).bases} == {relation}
