"""Times of two builds are compared by groups of nodes that neither divides."""

import pytest

from registry.selectors.results.nodetime import NodeTime, baseline_of, node_times
from registry.services.results.build import builds_publish
from registry.services.results.profile import profile_store
from registry.services.results.record import record_add
from registry.tables import Build, Profile
from tests.registry import shopfloor
from tests.registry.shopfloor import Floor, call_site

pytestmark = pytest.mark.django_db


def two_profiles(floor: Floor, before: list[object], after: list[object]) -> list[Profile]:
    """Profiles of a baseline and of another build of the floor's network, with those call sites."""
    floor.tune()
    ticket = floor.claim()
    handle = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    made = []
    for threads in ("all", "half"):
        document = shopfloor.document(floor.revision, threads, job=ticket.job_uuid)
        record = record_add(**handle, document=document)
        baseline = {"is_baseline": True, "ratio": 1.0, "verdict": "same"}
        more = baseline if threads == "all" else {}
        made.append(shopfloor.build(record.pk, threads, **more))
    builds_publish(**handle, builds=made)
    for build, sites in zip(made, (before, after), strict=True):
        profile_store(
            **handle,
            config_sha256=build["config_sha256"],
            profile=shopfloor.profile(call_sites=sites),
        )
    return [Profile.objects.get(build__config_sha256=build["config_sha256"]) for build in made]


@pytest.fixture
def floor() -> Floor:
    return shopfloor.floor()


def test_nodes_that_one_build_fuses_are_compared_together(floor: Floor) -> None:
    profiles = two_profiles(
        floor,
        [
            call_site("conv", 60, (0, "exact"), kernel="conv"),
            call_site("relu", 10, (1, "exact"), operator="Relu"),
            call_site("gemm", 30, (2, "exact"), operator="Gemm"),
            call_site("copy", 5, operator="Memcpy"),
        ],
        [
            call_site("conv+relu", 40, (0, "exact"), (1, "exact"), operator="ConvRelu"),
            call_site("gemm", 31, (2, "exact"), operator="Gemm"),
        ],
    )
    assert sorted(node_times(profiles), key=lambda each: each.nodes) == [
        NodeTime((), ("Memcpy",), (5, 0)),
        NodeTime((0, 1), ("Conv", "Relu", "ConvRelu"), (70, 40)),
        NodeTime((2,), ("Gemm",), (30, 31)),
    ]
    assert sum(each.times_ns[0] for each in node_times(profiles)) == 105


def test_the_baseline_of_a_build_is_that_of_its_job(floor: Floor) -> None:
    two_profiles(floor, [call_site("a", 1, (0, "exact"))], [call_site("a", 1, (0, "exact"))])
    baseline, other = Build.objects.order_by("-is_baseline")
    assert baseline_of(other) == baseline
    Build.objects.filter(pk=baseline.pk).update(job=None)
    assert baseline_of(other) == baseline
    baseline.delete()
    assert baseline_of(other) is None


@pytest.mark.parametrize(
    ("nodes", "label"),
    [
        ((), "not linked to a node: Conv"),
        ((3,), "node 3: Conv"),
        ((3, 4, 5, 8), "nodes 3–5, 8: Conv"),
        ((1, 3, 5, 7, 9), "nodes 1, 3, 5, …: Conv"),
    ],
)
def test_labels_name_ranges_of_nodes(nodes: tuple[int, ...], label: str) -> None:
    assert NodeTime(nodes, ("Conv",), (1,)).label == label


def test_labels_of_many_operators_are_cut() -> None:
    assert NodeTime((1,), tuple("abcdef"), (1,)).label == "node 1: a, b, c, d, …"
