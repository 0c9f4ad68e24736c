"""Hundreds of models, and random searches that must equal plain Python over the same facts."""

import random
import time
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser

from registry.search import index
from registry.search import signature as signatures
from registry.search.counts import FACET_VALUES
from registry.search.fit import fits
from registry.search.schema import FACETS
from registry.selectors.search.catalogue import catalogue_search
from registry.states import RefKind, Visibility
from registry.tables import (
    Build,
    FileSeries,
    Graph,
    MLModel,
    OutboxEntry,
    Record,
    Ref,
    Revision,
    Tag,
    Target,
)
from tests.registry.search import rows

MODELS = 500
SEARCHES = 75

WORDS = [
    "spiral",
    "galaxy",
    "digit",
    "image",
    "text",
    "speech",
    "protein",
    "weather",
    "ocean",
    "crystal",
]
TASKS = ["image-classification", "text-generation", "Regression", ""]
LICENSES = ["mit", "Apache-2.0", "bsd-3-clause"]
LIBRARIES = ["onnx", "torch", ""]
CLASSES = ["plain-cnn", "transformer", "mlp"]
TAGS = [f"tag-{number}" for number in range(12)]
SLUGS = ["x86-64-avx2", "x86-64-avx512", "nvidia-h200"]
NAMESPACES = ["lab", "alice", "bob", "dora"]
SHAPES = ["float32[N,3,64,64] -> float32[N,10]", "float32[8,3,64,64]", "int64[N,T]", "float32[4]"]
ASKED_SHAPES = ["float32[?,3,64,64]", "float32[9,3,64,64]", "int64[1,7]", "-> float32[1,10]"]


@dataclass(frozen=True)
class Fact:
    """An MLModel, as the test knows it."""

    pk: int
    full_name: str
    private: bool
    downloads: int
    age_s: int
    words: frozenset[str]
    values: dict[str, list[str]]
    signature: signatures.Signature | None


def invent(chance: random.Random, number: int) -> tuple[Fact, dict[str, Any]]:
    """A fact, and the columns of its row."""
    namespace = chance.choice(NAMESPACES)
    said = chance.sample(WORDS, 3)
    columns = {
        "task": chance.choice(TASKS),
        "license": chance.choice(LICENSES),
        "library": chance.choice(LIBRARIES),
        "title": said[0],
        "description": f"About {said[1]} and {said[2]}.",
        "downloads": chance.randrange(40),
    }
    known = chance.random() < 0.7
    values = {key: [columns[key].lower()] for key in ("task", "license", "library")}
    values |= {
        "tag": chance.sample(TAGS, chance.randrange(4)),
        "architecture_class": [chance.choice(CLASSES)] if known else [],
        "target": chance.sample(SLUGS, chance.randrange(3)) if known else [],
        "namespace": [namespace],
    }
    fact = Fact(
        pk=number,
        full_name=f"{namespace}/m-{number}",
        private=chance.random() < 0.4,
        downloads=columns["downloads"],
        age_s=chance.randrange(500),
        words=frozenset([*said, *columns["task"].lower().split("-")]),
        values={key: [value for value in held if value] for key, held in values.items()},
        signature=signatures.parse(chance.choice(SHAPES)) if known else None,
    )
    return fact, columns


def populate(chance: random.Random) -> list[Fact]:
    """Invented models, in the tables."""
    made = [invent(chance, number) for number in range(1, MODELS + 1)]
    namespaces = {name: rows.namespace(name) for name in NAMESPACES}
    mlmodels = MLModel.objects.bulk_create(
        MLModel(
            pk=fact.pk,
            namespace=namespaces[fact.values["namespace"][0]],
            name=f"m-{fact.pk}",
            visibility=Visibility.PRIVATE if fact.private else Visibility.PUBLIC,
            updated_at=rows.LONG_AGO - timedelta(seconds=fact.age_s),
            **columns,
        )
        for fact, columns in made
    )
    facts = [fact for fact, _ in made]
    Tag.objects.bulk_create(
        Tag(mlmodel_id=fact.pk, value=tag) for fact in facts for tag in fact.values["tag"]
    )
    FileSeries.objects.bulk_create(FileSeries(pk=row.pk, mlmodel=row) for row in mlmodels)
    Revision.objects.bulk_create(
        Revision(
            pk=row.pk,
            mlmodel=row,
            series_id=row.pk,
            position=0,
            oid=f"{row.pk:040x}",
            tree_oid="",
            created_at=rows.LONG_AGO,
        )
        for row in mlmodels
    )
    Ref.objects.bulk_create(
        Ref(mlmodel_id=row.pk, kind=RefKind.BRANCH, name="main", revision_id=row.pk)
        for row in mlmodels
    )
    populate_networks([fact for fact in facts if fact.signature])
    OutboxEntry.objects.bulk_create(OutboxEntry(mlmodel_uuid=row.uuid) for row in mlmodels)
    return facts


def populate_networks(facts: list[Fact]) -> None:
    """Graphs, and a build for each target."""

    def side(tensors: tuple[signatures.Tensor, ...]) -> list[dict[str, Any]]:
        return [{"dtype": tensor.dtype, "shape": list(tensor.dims)} for tensor in tensors]

    Graph.objects.bulk_create(
        Graph(
            pk=fact.pk,
            revision_id=fact.pk,
            path="model.onnx",
            is_primary=True,
            graph_hash=rows.structure_hash(str(fact.pk % 100)),
            architecture_class=fact.values["architecture_class"][0],
            parameters=1,
            signature={
                "inputs": side(fact.signature.inputs),
                "outputs": side(fact.signature.outputs),
            },
            operators={},
            embedding=[1.0],
        )
        for fact in facts
        if fact.signature
    )
    record = Record.objects.create(
        id="0" * 64,
        document={},
        kind="headline",
        revision_id=facts[0].pk,
        target=Target.objects.create(slug="any", architecture="x86-64"),
        backend="onnxruntime",
        tolerance="exact",
        p50_ns=1,
        created_at=rows.LONG_AGO,
    )
    targets = {slug: Target.objects.create(slug=slug, architecture="x86-64") for slug in SLUGS}
    Build.objects.bulk_create(
        Build(
            graph_id=fact.pk,
            target=targets[slug],
            config_sha256="0" * 64,
            candidate={},
            runtime="onnxruntime",
            entry_point="model.ort",
            tolerance="exact",
            record=record,
            ratio=0.5,
            verdict="faster",
            p50_ns=1,
        )
        for fact in facts
        for slug in fact.values["target"]
    )


def question(chance: random.Random) -> dict[str, Any]:
    """A random search."""
    choices: dict[str, list[str]] = {
        "task": ["IMAGE-classification", "regression"],
        "license": ["MIT", "apache-2.0"],
        "library": LIBRARIES[:2],
        "tag": TAGS,
        "architecture_class": CLASSES,
        "namespace": NAMESPACES,
        "target": SLUGS,
    }
    asked: dict[str, Any] = {
        key: chance.sample(values, chance.choice([1, 1, 2]))
        for key, values in choices.items()
        if chance.random() < 0.25
    }
    if chance.random() < 0.3:
        asked["signature"] = chance.choice(ASKED_SHAPES)
    asked["query"] = " ".join(chance.sample(WORDS, chance.choice([0, 0, 1, 2])))
    asked["sort"] = chance.choice(["updated", "downloads", "name"])
    return asked


def answer(facts: list[Fact], asked: dict[str, Any], sees: set[str], without: str) -> list[Fact]:
    """The same search, done by looking at every fact; ``sees`` are namespaces."""

    def matches(fact: Fact) -> bool:
        if fact.private and fact.values["namespace"][0] not in sees:
            return False
        for key, held in fact.values.items():
            wanted = {value.lower() for value in asked.get(key, [])} if key != without else set()
            enough = len(wanted) if key in {"tag", "target"} else min(1, len(wanted))
            if len(wanted & set(held)) < enough:
                return False
        if "signature" in asked and not (
            fact.signature and fits(signatures.parse(asked["signature"]), fact.signature)
        ):
            return False
        return set(asked["query"].split()) <= fact.words

    keys = {
        "updated": lambda fact: (fact.age_s, -fact.pk),
        "downloads": lambda fact: (-fact.downloads, -fact.pk),
        "name": lambda fact: fact.full_name,
    }
    return sorted(filter(matches, facts), key=keys[asked["sort"]])


def counted(facts: list[Fact], facet: str) -> list[tuple[str, int]]:
    counts = Counter(value for fact in facts for value in fact.values[facet])
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:FACET_VALUES]


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.usefixtures("data_dir")
def test_random_searches_equal_plain_python() -> None:
    chance = random.Random(7)  # noqa: S311 - nothing is kept secret by it
    facts = populate(chance)
    began = time.perf_counter()
    index.catch_up(wait_s=1, budget_s=60)
    index_s = time.perf_counter() - began
    # A batch of changes after the first build: several segments, with deletions.
    for mlmodel in MLModel.objects.filter(pk__lte=350):
        rows.announce(mlmodel)
    index.catch_up(wait_s=1, budget_s=60)
    actors = [
        (AnonymousUser(), set()),
        (rows.user("alice", "lab"), {"alice", "lab"}),
        (None, set(NAMESPACES)),
    ]
    taken_s: list[float] = []
    for _ in range(SEARCHES):
        asked = question(chance)
        actor, sees = chance.choice(actors)
        expected = answer(facts, asked, sees, without="")
        began = time.perf_counter()
        page = catalogue_search(actor, limit=100, **asked)
        taken_s.append(time.perf_counter() - began)
        found = [row.pk for row in page.items]
        if page.next_cursor:
            following = catalogue_search(actor, limit=100, cursor=page.next_cursor, **asked)
            found += [row.pk for row in following.items]
        assert found == [fact.pk for fact in expected[:200]], asked
        assert page.total == len(expected)
        for facet in FACETS:
            left = answer(facts, asked, sees, without=facet) if asked.get(facet) else expected
            assert page.facets[facet] == counted(left, facet), (facet, asked)
    taken_s.sort()
    # Told, not asserted (pytest -s): the machine that tests is shared.
    p50_ms, p95_ms = (taken_s[SEARCHES * part // 100] * 1e3 for part in (50, 95))
    print(f"{MODELS} models: indexed in {index_s:.2f} s; p50 {p50_ms:.1f} p95 {p95_ms:.1f} ms")
