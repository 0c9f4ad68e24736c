"""The same nodes under other builds, the same workload in other models; nothing private leaks."""

from typing import Any

import pytest
from django.utils import timezone

from registry.selectors.analysis.buildpeer import build_comparison
from registry.selectors.analysis.profiledbuild import profiled_builds
from registry.selectors.analysis.workloadpeer import (
    best_confirmed,
    confirmed_of,
    workload_peers,
)
from registry.services.storage.blob import blob_store_bytes
from registry.states import JobKind
from registry.tables import (
    Job,
    ScheduleSketch,
    ScheduleTask,
    ScheduleTrial,
    Target,
    User,
)
from tests.factories import make_user
from tests.registry import shopfloor
from tests.registry.analysis import profiles
from tests.registry.analysis.profiles import WORKLOAD
from tests.registry.shopfloor import Floor, call_site

pytestmark = pytest.mark.django_db


@pytest.fixture
def floor() -> Floor:
    return shopfloor.floor()


def plain(*sites: dict[str, Any]) -> dict[str, Any]:
    return shopfloor.profile(call_sites=list(sites), kernels=[])


def confirm(floor: Floor, seconds: float, *, number: int = 1, key: str = WORKLOAD) -> None:
    """A confirmed schedule of a workload, by a search of the floor's model."""
    task, _ = ScheduleTask.objects.get_or_create(
        key=key,
        target=Target.objects.get(slug=shopfloor.SLUG),
        toolchain="tvm 1",
        defaults={
            "name": "matmul", "anchor": "matmul", "flops": 1.0,
            "source": blob_store_bytes(actor=None, data=b"x"),
        },
    )  # fmt: skip
    sketch, _ = ScheduleSketch.objects.get_or_create(digest="f" * 64, instructions=[])
    job = Job.objects.filter(revision=floor.revision, kind=JobKind.TUNE).first() or floor.tune()
    ScheduleTrial.objects.create(
        task=task, job=job, number=number, sketch=sketch, digest="f" * 64, proposed_by="test",
        outcome="measured", confirmed_s=seconds, confirmed_at=timezone.now(), duration_s=1.0,
    )  # fmt: skip


def test_the_fastest_build_of_the_nodes_comes_first(floor: Floor) -> None:
    profiles.publish(
        floor,
        plain(
            call_site("conv", 60, (0, "exact"), precision="float32"),
            call_site("relu", 10, (1, "exact"), precision="float32"),
            call_site("gemm", 30, (2, "exact"), precision="float32"),
        ),
        plain(
            call_site("conv+relu", 40, (0, "exact"), (1, "exact"), precision="bfloat16"),
            call_site("gemm", 31, (2, "exact"), precision="float32"),
        ),
    )
    builds = profiled_builds(floor.graph)
    comparison = build_comparison(builds, [0])
    assert comparison is not None
    # The second build computes both nodes in one call, so both are compared.
    assert comparison.nodes == (0, 1)
    assert [(one.time_ns, one.precisions) for one in comparison.peers] == [
        (40, ("bfloat16",)), (70, ("float32",)),
    ]  # fmt: skip
    assert comparison.peers[1].sequences == (0, 1)
    assert comparison.peers[1].spread_ns == 2
    assert all(one.is_whole for one in comparison.peers)
    assert not comparison.is_one_precision
    same = build_comparison(builds, [2])
    assert same is not None
    assert same.is_one_precision
    assert [one.time_ns for one in same.peers] == [30, 31]
    assert build_comparison(builds, []) is None


def test_a_build_without_a_call_for_the_nodes_is_last(floor: Floor) -> None:
    profiles.publish(
        floor, plain(call_site("a", 60, (0, "exact"))), plain(call_site("b", 10, (1, "exact")))
    )
    comparison = build_comparison(profiled_builds(floor.graph), [0])
    assert comparison is not None
    assert [one.time_ns for one in comparison.peers] == [60, None]


def test_a_workload_is_found_in_other_models(floor: Floor) -> None:
    profiles.publish(floor, profiles.planted())
    other = shopfloor.floor("bob/resnet")
    profiles.publish(other, profiles.planted(), shopfloor.profile())
    (peer,) = workload_peers(None, WORKLOAD, but=floor.revision.mlmodel)
    assert (peer.mlmodel, peer.time_ns, peer.calls, peer.is_tuned) == ("bob/resnet", 30, 3, False)
    assert workload_peers(None, "e" * 64) == []
    assert workload_peers(None, "") == []


def test_what_is_private_is_no_peer(floor: Floor) -> None:
    profiles.publish(floor, profiles.planted())
    hidden = shopfloor.floor("bob/secret", private=True)
    profiles.publish(hidden, profiles.planted())
    confirm(hidden, 1e-7)
    stranger, bob = make_user("eve"), User.objects.get(username="bob")
    assert workload_peers(stranger, WORKLOAD, but=floor.revision.mlmodel) == []
    assert [one.mlmodel for one in workload_peers(bob, WORKLOAD)] == [
        "alice/squeezenet", "bob/secret",
    ]  # fmt: skip
    # Its schedules are shared by tuning, but what its search measured is not shown.
    assert confirmed_of(stranger, WORKLOAD) == []
    assert best_confirmed(stranger, WORKLOAD, hidden.target) is None
    assert best_confirmed(bob, WORKLOAD, hidden.target) == pytest.approx(100)


def test_the_newest_confirmation_of_a_workload_counts(floor: Floor) -> None:
    profiles.publish(floor, profiles.planted())
    confirm(floor, 1e-7)
    confirm(floor, 3e-7, number=2)
    (entry,) = confirmed_of(None, WORKLOAD)
    assert (entry.target, entry.toolchain) == (shopfloor.SLUG, "tvm 1")
    assert entry.time_ns == pytest.approx(300)
