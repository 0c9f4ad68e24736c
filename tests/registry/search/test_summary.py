"""What lists show: the head of the default branch, its network, its best exact builds."""

import pytest

from registry.search.counts import Counts
from registry.selectors.repository.revision import revision_get
from registry.selectors.results.best import best_builds
from registry.selectors.search.catalogue import CataloguePage
from registry.selectors.search.entry import entries_of
from registry.selectors.search.summary import summary_of
from registry.services.results.build import builds_publish
from registry.services.results.record import record_add
from registry.tables import Build, MLModel
from tests.factories import commit_files
from tests.registry import shopfloor

pytestmark = pytest.mark.django_db


def publish(floor: shopfloor.Floor, *builds: tuple[str, float]) -> dict[tuple[str, float], Build]:
    """Builds of (tolerance, ratio), all proven faster, beside the baseline."""
    floor.tune()
    ticket = floor.claim()
    described = [("exact", 1.0), *builds]
    wanted = []
    for number, (tolerance, ratio) in enumerate(described):
        threads = f"t{number}"
        document = shopfloor.document(floor.revision, threads, job=ticket.job_uuid)
        record = record_add(document=document, job_uuid=ticket.job_uuid, fence=ticket.fence)
        is_baseline = number == 0
        verdict = "same" if is_baseline else "faster"
        columns = {"tolerance": tolerance, "ratio": ratio, "verdict": verdict}
        wanted.append(shopfloor.build(record.pk, threads, is_baseline=is_baseline, **columns))
    made = builds_publish(job_uuid=ticket.job_uuid, fence=ticket.fence, builds=wanted)
    return dict(zip(described, made, strict=True))


def test_a_build_is_best_of_its_tolerance_only_if_no_stricter_one_beats_it() -> None:
    floor = shopfloor.floor()
    made = publish(floor, ("exact", 0.8), ("fp16", 0.85), ("int8", 0.5), ("int8", 0.6))
    best = best_builds({floor.graph.pk}).of_class
    assert best == {made["exact", 0.8].pk, made["int8", 0.5].pk}


def test_the_baseline_is_best_where_nothing_is_faster() -> None:
    floor = shopfloor.floor()
    made = publish(floor)
    assert best_builds({floor.graph.pk}).of_class == {made["exact", 1.0].pk}
    assert best_builds(set()).of_class == set()


def test_a_summary_counts_exact_builds_only() -> None:
    floor = shopfloor.floor()
    publish(floor, ("exact", 0.8), ("int8", 0.5))
    summary = summary_of(floor.revision.mlmodel, floor.revision)
    assert summary.builds == {shopfloor.SLUG: 0.8}
    assert summary.signature == "float32[N,3] -> float32[N,10]"


def test_a_summary_is_about_the_head_of_the_default_branch(
    galaxy: MLModel, secret: MLModel
) -> None:
    shopfloor.make_graph(revision_get(galaxy))
    newer = commit_files(galaxy, {"model.onnx": None})
    page = CataloguePage(items=[secret, galaxy], next_cursor=None, counts=Counts())
    first, second = entries_of(page)
    assert (first.mlmodel, second.mlmodel) == (secret, galaxy)
    assert second.revision == newer
    assert (second.graph, second.signature, second.builds) == (None, None, {})
    assert second.tags == ["astronomy"]
    assert entries_of(CataloguePage(items=[], next_cursor=None, counts=Counts())) == []
