"""Principles of the hub: computed from public evidence, recomputable, never deleted."""

from typing import Any

import pytest

from hpcfair.traits import Trait
from registry import schemas
from registry.selectors.analysis.principle import (
    digest_of,
    evidence_of,
    principle_get,
    principles,
    principles_by_status,
    principles_for_search,
    version_get,
    visible_evidence,
    visible_query,
)
from registry.services.analysis.principle import principles_compute
from registry.states import Visibility
from registry.statistics.principles import TraitFinding, evidence_for
from registry.tables import (
    MLModel,
    Principle,
    PrincipleStatus,
    PrincipleVersion,
    ScheduleAblation,
    ScheduleTrial,
    Target,
)
from tests.registry.analysis.planted import search

pytestmark = pytest.mark.django_db

WORDS = "loops of up to 64 iterations, or longer ones, are unrolled"


def recompute(version: PrincipleVersion) -> TraitFinding:
    """The evidence of a frozen query, computed again from the stored trials."""
    statement = version.principle.statement
    trait = Trait.from_json(statement["trait"])
    is_wanted = bool(statement["is_wanted"])
    return evidence_for(trait, *evidence_of(version.query), is_wanted=is_wanted)


def unrolling() -> Principle:
    return Principle.objects.get(words__endswith=WORDS)


@pytest.fixture
def published() -> Principle:
    for number in range(3):
        search(number)
    assert principles_compute() > 0
    return unrolling()


def test_three_searches_and_their_ablations_publish_a_principle(published: Principle) -> None:
    assert published.status == PrincipleStatus.PUBLISHED
    assert published.published_at is not None
    assert published.words == f"Fast schedules of conv2d_nhwc: {WORDS}"
    content = {"statement": published.statement, "method": published.method}
    assert published.identifier == schemas.sha256_of(content)
    assert principle_get(published.identifier) == published
    evidence = version_get(published).evidence
    assert evidence["support"]["workloads"] == 3
    assert evidence["support"]["ablations"] == 3
    assert evidence["against"] == {"workloads": 0, "targets": 0, "trials": 0, "ablations": 0}
    assert {row["name"] for row in evidence["workloads"]} == {"conv0", "conv1", "conv2"}
    wish = {"anchor": "conv2d_nhwc", "trait": published.statement["trait"], "is_wanted": True}
    assert wish in principles_for_search(["conv2d_nhwc"])
    assert principles_for_search(["matmul"]) == []


def test_anybody_computes_the_evidence_of_a_version_again(published: Principle) -> None:
    version = version_get(published)
    assert recompute(version).evidence == version.evidence
    # The query names the trials: their number, their last, and the digest of their ids.
    for each in version.query["workloads"]:
        rows = ScheduleTrial.objects.filter(
            task__uuid=each["workload"], created_at__lte=each["until"], outcome="measured"
        )
        ids = [str(uuid) for uuid in rows.order_by("id").values_list("uuid", flat=True)]
        assert (len(ids), digest_of(ids)) == (each["count"], each["sha256"])
    assert version.digest == schemas.sha256_of(version.query)


def test_later_trials_change_a_new_version_only(published: Principle) -> None:
    before = version_get(published)
    search(3)
    principles_compute()
    assert recompute(before).evidence == before.evidence
    after = version_get(published)
    assert after.number == before.number + 1
    assert after.evidence["support"]["workloads"] == 4
    assert version_get(published, 1).evidence == before.evidence


def test_without_new_evidence_nothing_is_computed(published: Principle) -> None:
    assert principles_compute() == 0
    assert published.versions.count() == 1


def test_too_little_is_being_examined_and_says_what_is_missing() -> None:
    search(0)
    principles_compute()
    row = unrolling()
    assert row.status == PrincipleStatus.EXAMINED
    assert row.published_at is None
    assert version_get(row).evidence["missing"] == ["2 more workloads", "1 more ablation"]
    assert principles_for_search(["conv2d_nhwc"]) == []
    search(1)
    principles_compute()
    assert row.versions.count() == 1
    search(2)
    principles_compute()
    row.refresh_from_db()
    assert row.status == PrincipleStatus.PUBLISHED
    assert [version.number for version in row.versions.order_by("number")] == [1, 2]


def test_contrary_evidence_withdraws_a_principle_and_deletes_nothing(published: Principle) -> None:
    for number in range(10, 14):
        search(number, helps=False)
    principles_compute()
    published.refresh_from_db()
    assert published.status == PrincipleStatus.WITHDRAWN
    assert version_get(published).evidence["against"]["workloads"] == 4
    assert [version.status for version in published.versions.order_by("number")] == [
        "published", "withdrawn",
    ]  # fmt: skip
    assert not principles_for_search(["conv2d_nhwc"])


def test_evidence_that_goes_away_weakens_a_principle(published: Principle) -> None:
    ScheduleAblation.objects.all().delete()
    search(3, trials=5)
    principles_compute()
    published.refresh_from_db()
    assert published.status == PrincipleStatus.WEAKENED


def test_private_searches_are_no_evidence() -> None:
    for number in range(3):
        search(number, name=f"bob/secret{number}", private=True)
    principles_compute()
    assert not Principle.objects.exists()


def test_emulated_machines_are_no_evidence() -> None:
    search(0)
    Target.objects.update(is_emulated=True)
    principles_compute()
    assert not Principle.objects.exists()


def test_what_becomes_private_is_withheld_from_old_versions(published: Principle) -> None:
    MLModel.objects.filter(name="net1").update(visibility=Visibility.PRIVATE)
    version = version_get(published)
    shown, query = visible_evidence(version), visible_query(version)
    assert shown["withheld"] == 1
    assert {row["name"] for row in shown["workloads"]} == {"conv0", "conv2"}
    assert len(shown["ablations"]) == len(query["ablations"]) == 2
    assert len(query["workloads"]) == 2
    hidden = ScheduleTrial.objects.filter(task__name="conv1")[0].task.uuid
    assert str(hidden) not in f"{shown}{query}"


def test_the_next_version_is_without_what_became_private(published: Principle) -> None:
    MLModel.objects.filter(name="net1").update(visibility=Visibility.PRIVATE)
    assert principles_compute() > 0
    published.refresh_from_db()
    assert published.status == PrincipleStatus.WEAKENED
    version = version_get(published)
    assert version.evidence["support"]["workloads"] == 2
    assert visible_evidence(version)["withheld"] == 0


def test_lists_have_published_ones_first(published: Principle) -> None:
    by_status: dict[str, Any] = dict(principles_by_status())
    assert list(by_status) == ["published", "weakened", "withdrawn", "examined"]
    assert published in [version.principle for version in by_status["published"]]
    assert principles(status="published", anchor="conv2d_nhwc").count() >= 1
    assert principles(anchor="matmul").count() == 0
