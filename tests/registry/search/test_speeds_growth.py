"""What reads and writes of best builds cost on a hub of thousands of models: as on a small one."""

import hashlib
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser

from registry.search.documents import documents_of
from registry.selectors.repository.head import heads_of
from registry.selectors.results.best import best_at_heads, largest_gains
from registry.selectors.search.speeds import speeds_of, states_at
from registry.services.results.best import best_builds_update
from registry.states import ToleranceClass
from registry.tables import BestBuild, Build, Graph, MLModel, Namespace, Record, Ref, Target
from tests.hub.fair.crowd import make_crowd
from tests.plans import assert_reads_few

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.usefixtures("data_dir")]

MANY, PAGE = 12_000, 24


@pytest.fixture
def crowd(lab: Namespace) -> list[MLModel]:
    """Many tuned models; of each, one build beats the defaults."""
    mlmodels = make_crowd(lab, MANY)
    target = Target.objects.create(slug="x86-64-avx2", architecture="x86-64")
    heads = dict(Ref.objects.filter(name="main").values_list("mlmodel", "revision"))
    graphs = Graph.objects.bulk_create(
        Graph(
            revision_id=heads[one.pk],
            path="model.onnx",
            is_primary=True,
            graph_hash="a" * 64,
            architecture_class="mlp",
            parameters=1,
            signature={"inputs": [], "outputs": []},
            operators={},
            embedding=[1.0],
        )
        for one in mlmodels
    )
    digests = [hashlib.sha256(str(at).encode()).hexdigest() for at in range(len(graphs))]
    records = Record.objects.bulk_create(
        Record(
            id=digest,
            document={},
            kind="headline",
            revision_id=graph.revision_id,
            target=target,
            backend="onnxruntime",
            tolerance="exact",
            p50_ns=1,
            created_at=mlmodels[0].created_at,
        )
        for digest, graph in zip(digests, graphs, strict=True)
    )
    builds = Build.objects.bulk_create(
        Build(
            graph=graph,
            target=target,
            config_sha256=record.pk,
            candidate={"backend": "onnxruntime"},
            runtime="onnxruntime",
            entry_point="model.ort",
            tolerance="exact",
            record=record,
            ratio=0.5,
            verdict="faster",
            p50_ns=1,
        )
        for graph, record in zip(graphs, records, strict=True)
    )
    BestBuild.objects.bulk_create(
        BestBuild(
            mlmodel=mlmodel,
            target=target,
            tolerance=tolerance,
            build=build,
            p50_ns=1,
            ratio=0.5,
        )
        for mlmodel, build in zip(mlmodels, builds, strict=True)
        for tolerance in ToleranceClass
    )
    return mlmodels


READS: dict[str, Callable[[list[MLModel]], Any]] = {
    "speeds of a page": lambda page: speeds_of(page, "x86-64-avx2", "int8"),
    "speeds on any target": speeds_of,
    "states of a page": lambda page: states_at(heads_of(page), set()),
    "best builds by the rule": lambda page: best_at_heads([one.pk for one in page]),
    "index documents": lambda page: list(documents_of(one.uuid for one in page)),
    "largest gains": lambda _: largest_gains(AnonymousUser(), tolerance="int8", limit=PAGE),
    "a change of one model": lambda page: best_builds_update(page[0]),
}


def test_a_page_reads_as_many_rows_on_a_large_hub(
    crowd: list[MLModel], subtests: pytest.Subtests
) -> None:
    # One test, because the crowd takes seconds to write.
    for name, read in READS.items():
        with subtests.test(name):
            assert_reads_few(partial(read, crowd[-PAGE:]), most=10 * PAGE)
