"""The table of best builds says what the rule says, after every change that it depends on."""

import importlib
import random
import uuid
from typing import Any

import pytest
from django.db import connection

from registry.services.repository.mlmodel import mlmodel_delete, mlmodel_update
from registry.services.repository.ref import ref_create
from registry.services.results.best import best_builds_rebuild, best_builds_update
from registry.services.results.build import builds_publish
from registry.services.results.graph import graph_store
from registry.services.results.record import record_add
from registry.services.results.reproduction import plan_after_search, reproduction_add
from registry.services.work.attempt import job_succeed
from registry.services.work.job import job_submit
from registry.states import JobKind, RefKind, ToleranceClass
from registry.tables import BestBuild, Build, MLModel, OutboxEntry, Reproduction, Revision
from tests.factories import commit_files
from tests.hub.api.scene import tuned
from tests.registry import shopfloor
from tests.registry.results.test_best import Builds
from tests.registry.searched import searched_floor

pytestmark = pytest.mark.django_db

Row = tuple[str, str, int]
CLASSES = ["exact", "fp16", "bf16", "int8"]


def rows(mlmodel: MLModel) -> set[Row]:
    """Target, tolerance class and build of the rows of a model."""
    columns = ("target__slug", "tolerance", "build")
    return set(BestBuild.objects.filter(mlmodel=mlmodel).values_list(*columns))


def by_rule(revision: Revision) -> set[Row]:
    """The same, by looking at every build of the primary network."""
    builds = Build.objects.filter(
        graph__revision=revision, graph__is_primary=True, withdrawn_at=None
    )
    best: dict[tuple[str, str], tuple[bool, float, int]] = {}
    for build in builds.select_related("target"):
        again = build.reproductions.order_by("-created_at", "-pk").first()
        is_sound = again is None or again.outcome == "reproduced"
        if build.is_baseline or (build.verdict == "faster" and is_sound):
            place = build.is_baseline, build.ratio, build.pk
            for tolerance in CLASSES[CLASSES.index(build.tolerance) :]:
                key = build.target.slug, tolerance
                best[key] = min(best.get(key, place), place)
    return {(*key, pk) for key, (_, _, pk) in best.items()}


def news() -> int:
    return OutboxEntry.objects.count()


def test_a_search_writes_the_best_of_each_class_and_its_numbers() -> None:
    floor = searched_floor()
    mlmodel = floor.revision.mlmodel
    assert rows(mlmodel) == by_rule(floor.revision)
    assert len(rows(mlmodel)) == 4
    exact, loose = (BestBuild.objects.get(tolerance=one) for one in ("exact", "int8"))
    assert (exact.build.is_baseline, exact.ratio, exact.accuracy) == (True, 1.0, None)
    assert (loose.build.tolerance, loose.ratio, loose.p50_ns) == ("int8", 0.8, 3_000_000)
    assert (loose.accuracy, loose.accuracy_reference) == (0.97, 0.98)


def test_a_reproduction_that_differs_takes_a_build_out_and_tells_the_index() -> None:
    floor = searched_floor()
    search = Build.objects.filter(is_baseline=False).get().job
    assert search is not None
    plan_after_search(job_uuid=str(search.uuid))
    ticket = floor.claim(JobKind.REPRODUCE)
    before = news()
    for build in Build.objects.order_by("pk"):
        outcome = "reproduced" if build.is_baseline else "differs"
        reproduction_add(
            str(build.uuid),
            job_uuid=ticket.job_uuid,
            fence=ticket.fence,
            tools={"python": "3"},
            outcome=outcome,
        )
    assert {build for _, _, build in rows(floor.revision.mlmodel)} == {
        Build.objects.get(is_baseline=True).pk
    }
    assert rows(floor.revision.mlmodel) == by_rule(floor.revision)
    assert news() == before + 1


def test_another_search_replaces_the_rows_of_its_target_only() -> None:
    floor = searched_floor()
    other, _ = shopfloor.make_machine("x86-64-avx2", name="laptop")
    elsewhere = Build.objects.get(is_baseline=True)
    elsewhere.pk, elsewhere.uuid, elsewhere.target = None, uuid.uuid4(), other
    elsewhere.save()
    best_builds_update(floor.revision.mlmodel)
    before = {row for row in rows(floor.revision.mlmodel) if row[0] == "x86-64-avx2"}
    floor.tune()
    ticket = floor.claim()
    held = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    document = shopfloor.document(floor.revision, "third", job=ticket.job_uuid)
    record = record_add(**held, document=document)
    builds_publish(**held, builds=[shopfloor.build(record.pk, "third", is_baseline=True)])
    job_succeed(**held, result={"summary": "none", "trials": 1, "ended": "done"})
    assert rows(floor.revision.mlmodel) == by_rule(floor.revision)
    assert {row for row in rows(floor.revision.mlmodel) if row[0] == "x86-64-avx2"} == before


def test_only_the_head_of_the_default_branch_counts(galaxy: MLModel) -> None:
    scene = tuned(galaxy)
    mlmodel, expected = scene.mlmodel, by_rule(scene.revision)
    assert rows(mlmodel) == expected
    old = scene.revision
    ref_create(actor=None, mlmodel=mlmodel, kind=RefKind.BRANCH, name="old", revision=old)
    before = news()
    commit_files(mlmodel, {"notes.txt": "new"})
    assert rows(mlmodel) == set()
    assert news() > before
    mlmodel_update(actor=None, mlmodel=mlmodel, default_branch="old")
    assert rows(mlmodel) == expected
    mlmodel_update(actor=None, mlmodel=mlmodel, default_branch="main")
    assert rows(mlmodel) == set()


def test_another_primary_network_has_its_own_builds() -> None:
    floor = searched_floor()
    mlmodel = floor.revision.mlmodel
    job_submit(actor=None, kind=JobKind.INSPECT, revision=floor.revision)
    ticket = shopfloor.claim_inspect()
    facts = shopfloor.make_facts("other.onnx")
    graph_store(job_uuid=ticket.job_uuid, fence=ticket.fence, facts=facts, is_primary=True)
    assert rows(mlmodel) == set()
    facts = shopfloor.make_facts("model.onnx")
    graph_store(job_uuid=ticket.job_uuid, fence=ticket.fence, facts=facts, is_primary=True)
    assert rows(mlmodel) == by_rule(floor.revision)
    assert rows(mlmodel)


def test_a_deleted_model_leaves_no_rows() -> None:
    floor = searched_floor()
    mlmodel_delete(actor=None, mlmodel=floor.revision.mlmodel)
    assert not BestBuild.objects.exists()


def invent(chance: random.Random, name: str) -> Builds:
    """A model with random builds on two targets, some of them run again."""
    made = Builds(shopfloor.floor(name))
    targets = [made.floor.target, shopfloor.make_machine("x86-64-avx2", name="laptop")[0]]
    for target in chance.sample(targets, chance.randrange(3)):
        if chance.random() < 0.9:
            again(chance, made.baseline(target))
        for _ in range(chance.randrange(6)):
            build = made.add(
                chance.choice([0.5, 0.6, 0.7]),
                target,
                tolerance=chance.choice(list(ToleranceClass)),
                verdict=chance.choice(["faster", "faster", "same", "unstable"]),
                accuracy=chance.choice([None, 0.9]),
                withdrawn_at=chance.choice([None, None, made.floor.revision.created_at]),
            )
            again(chance, build)
    return made


def again(chance: random.Random, build: Build) -> None:
    for _ in range(chance.randrange(3)):
        outcome = chance.choice(["reproduced", "differs", "failed"])
        Reproduction.objects.create(build=build, toolchain="0" * 64, outcome=outcome)


def test_rows_written_anew_and_by_the_migration_equal_the_rule() -> None:
    chance = random.Random(5)  # noqa: S311 - nothing is kept secret by it
    models = [invent(chance, f"alice/net-{number}") for number in range(12)]
    expected = {each.floor.revision.mlmodel: by_rule(each.floor.revision) for each in models}
    assert any(expected.values())
    assert best_builds_rebuild() == sum(map(bool, expected.values()))
    assert best_builds_rebuild() == 0
    assert {mlmodel: rows(mlmodel) for mlmodel in expected} == expected
    columns = ("mlmodel", "target", "tolerance", "build", "p50_ns", "ratio", "accuracy")
    written = sorted(BestBuild.objects.values_list(*columns), key=str)
    BestBuild.objects.all().delete()
    migration: Any = importlib.import_module("registry.migrations.0023_best_builds")
    with connection.cursor() as cursor:
        cursor.execute(migration._FILL)
    assert sorted(BestBuild.objects.values_list(*columns), key=str) == written


def test_rebuilding_mends_rows_that_were_lost_or_are_wrong() -> None:
    floor = searched_floor()
    expected = rows(floor.revision.mlmodel)
    BestBuild.objects.filter(tolerance="bf16").delete()
    baseline = Build.objects.get(is_baseline=True)
    BestBuild.objects.filter(tolerance="int8").update(build=baseline)
    elsewhere, _ = shopfloor.make_machine("x86-64-avx2", name="laptop")
    BestBuild.objects.create(
        mlmodel=floor.revision.mlmodel,
        target=elsewhere,
        tolerance="exact",
        build=baseline,
        p50_ns=1,
        ratio=1.0,
    )
    before, seen = news(), list[int]()
    assert best_builds_rebuild(progress=seen.append) == 1
    assert rows(floor.revision.mlmodel) == expected
    assert (news(), seen) == (before + 1, [1])
