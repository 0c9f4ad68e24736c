"""Evidence of a group: code, work, roofs and schedules come together in its reasons."""

import pytest

from registry.errors import NotFound
from registry.kernels.networkwork import NetworkWork
from registry.selectors.analysis.groupevidence import GroupEvidence, evidence_of, lanes_of
from registry.selectors.analysis.kernelcode import (
    kernel_text,
    kinds_of,
    loop_decisions,
)
from registry.selectors.analysis.performance import performance_of
from registry.selectors.analysis.scheduledecision import decisions_of
from registry.selectors.results.profile import profile_of
from registry.storage import blob_store
from registry.tables import Blob, Build, CallSite, Kernel, KernelCode, Target
from tests.registry import shopfloor
from tests.registry.analysis import profiles
from tests.registry.kernels.scripts import TIR

pytestmark = pytest.mark.django_db

#: 1 MFLOP over 4 kB for nodes 0 and 1.
WORK = NetworkWork(
    {
        "operators": ["Conv", "Relu"],
        "dtypes": ["float32"],
        "nodes": {
            "operator": [0, 1],
            "name": ["a", "b"],
            "macs": [500_000, 0],
            "inputs": [[0, 1], [2]],
            "outputs": [[2], [3]],
        },
        "tensors": {"dtype": [0, 0, 0, 0], "shape": [[250], [500], [250], [250]]},
        "outputs": [3],
    }
)


@pytest.fixture
def build() -> Build:
    floor = shopfloor.floor()
    return profiles.publish(floor, shopfloor.profile(), profiles.planted())[1]


def evidence(build: Build, sequence: int = 1, work: NetworkWork | None = None) -> GroupEvidence:
    performance = performance_of(build, profile_of(build), work)
    group = performance.group(sequence)
    assert group is not None
    return evidence_of(None, performance, group)


def states(facts: GroupEvidence) -> dict[str, str]:
    return {one.code: one.state for one in facts.reasons}


def test_code_and_schedule_give_their_reasons(build: Build) -> None:
    facts = evidence(build)
    assert [loop.name for loop in facts.loops] == ["i_0", "j_0", "i_1", "k", "j_1", "j"]
    assert facts.mix is not None
    assert facts.mix.packed == 3
    assert facts.evidence.is_scheduled
    # AVX2 holds eight numbers, and the innermost loop runs 16 times.
    assert facts.evidence.lanes == 8
    found = states(facts)
    assert (found["unvectorised"], found["untuned"], found["lanes"]) == ("not", "not", "not")
    assert (found["below_roof"], found["memory_bound"]) == ("unknown", "unknown")


def test_an_untuned_kernel_without_code_says_so(build: Build) -> None:
    found = states(evidence(build, 2))
    assert (found["untuned"], found["unvectorised"], found["lanes"]) == (
        "applies", "unknown", "unknown",
    )  # fmt: skip


def test_roofs_of_the_device_bound_the_time(build: Build) -> None:
    profiles.measure(build.record.device, {"float32": 4e12}, 20e9)
    facts = evidence(build, 1, WORK)
    # 1 MFLOP at 4 TFLOP/s are 250 ns, of the 500 ns that it takes.
    assert facts.roofline is not None
    assert facts.roofline.of_roof == pytest.approx(0.5)
    assert states(facts)["below_roof"] == "applies"
    reason = next(one for one in facts.reasons if one.code == "below_roof")
    assert reason.saving == pytest.approx(0.5 * 0.5)
    # Work that is shared with other calls is not this call's work.
    assert evidence(build, 4, WORK).roofline is None


def test_lanes_follow_from_the_features_of_the_target() -> None:
    for features, precision, lanes in [
        (["avx512f", "avx2"], "float32", 16), (["avx2"], "bfloat16", 16), (["asimd"], "float32", 4),
        ([], "float32", None), (["avx2"], "", None),
    ]:  # fmt: skip
        assert lanes_of(Target(features=features), precision) == lanes


def test_a_schedule_is_put_into_words(build: Build) -> None:
    kernel = Kernel.objects.get(symbol="slow")
    made = decisions_of(kernel)
    assert [(one.instruction, one.text) for one in made] == [(2, "[8, 8]"), (4, "[3, 16]")]
    assert made[0].part(1) == "level 2 of 2: 8"
    assert made[0].part(7) == ""
    for broken in (None, {"a": 1}, [1], [[["SamplePerfectTile"]], [[0, 1]]], [[["x"]], 5]):
        kernel.schedule = broken
        assert decisions_of(kernel) == []


def test_code_is_read_from_its_blob(build: Build) -> None:
    kernel = Kernel.objects.get(symbol="slow")
    assert kinds_of(kernel) == ["tir", "asm", "llvm"]
    assert kernel_text(kernel, "tir").text == TIR
    assert [loop["name"] for loop in loop_decisions(kernel)] == [
        "i_0", "j_0", "i_1", "k", "j_1", "j",
    ]  # fmt: skip
    with pytest.raises(NotFound, match="no code of kind 'cuda'"):
        kernel_text(kernel, "cuda")
    assert kinds_of(None) == []


def test_code_whose_bytes_are_lost_is_said_not_drawn(build: Build) -> None:
    kernel = Kernel.objects.get(symbol="slow")
    for code in KernelCode.objects.filter(kernel=kernel):
        blob_store().delete(code.blob_id)
    assert Blob.objects.exists()
    with pytest.raises(NotFound, match="no longer stored"):
        kernel_text(kernel, "tir")
    assert loop_decisions(kernel) == []
    facts = evidence(build)
    assert (facts.loops, facts.mix) == ([], None)


def test_an_implausible_time_gives_no_roofline(build: Build) -> None:
    profiles.measure(build.record.device, {"float32": 4e12}, 20e9)
    CallSite.objects.filter(name="slow#1").update(median_ns=10**13)
    facts = evidence(build, 1, WORK)
    assert facts.roofline is None
    assert facts.evidence.time_ns == 0
