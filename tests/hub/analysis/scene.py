"""A hub in which every question has a planted answer.

``alice/stars`` has a network of six nodes, the default build and a faster one whose profile is
planted: call 1 takes half of the time, runs the kernel ``slow`` of a tuned workload and has no
vector instruction that counts; call 4 runs in bfloat16, call 0 is linked to no node, node 4 was
folded. ``bob/resnet`` runs the same workload. That workload has a search with planted times: an
inner width of ``ff`` of 16 is three times as fast.
"""

import json
from dataclasses import dataclass

import onnx
from onnx import TensorProto, helper

from registry.services.analysis.importedprofile import profile_import
from registry.tables import Build, ImportedProfile, Job, ScheduleTask
from tests.factories import store
from tests.registry import shopfloor
from tests.registry.analysis import profiles
from tests.registry.analysis.recordedsearches import add_trials, add_workload, planted
from tests.registry.drawings import document_of, draw
from tests.registry.shopfloor import Floor, call_site
from tests.registry.traces.recorded import recorded


@dataclass(frozen=True)
class AnalysisScene:
    """What the questions are about."""

    floor: Floor
    default: Build
    fast: Build
    imported: ImportedProfile
    task: ScheduleTask

    @property
    def addresses(self) -> list[str]:
        """A page of every kind, with what is planted."""
        group = f"/alice/stars/perf/groups/1?build={self.fast.uuid}"
        return [
            self.perf,
            *(f"{group}&tab={tab}" for tab in ("why", "loops", "code", "asm", "schedule", "peers")),
            "/alice/stars/graph",
            "/alice/stars/builds",
            "/alice/stars/profiles",
            f"/profiles/{self.imported.uuid}?build={self.fast.uuid}",
            "/compare?model=alice/stars",
            f"/builds/{self.fast.uuid}",
            "/tune-next",
            "/passes",
            self.workload,
            "/workloads",
        ]

    @property
    def perf(self) -> str:
        """Address of the performance page of the planted profile."""
        return f"/alice/stars/perf?build={self.fast.uuid}"

    @property
    def workload(self) -> str:
        """Address of the page of the workload of the hottest kernel."""
        return f"/workloads/{self.task.uuid}"


def make_scene() -> AnalysisScene:
    """Make everything, as workers and people do."""
    floor = shopfloor.floor("alice/stars")
    draw(floor.graph, document_of(network()))
    profiles.measure(floor.device, {"float32": 1e9}, 1e9)
    default, fast = profiles.publish(floor, _default_profile(), profiles.planted())
    other = shopfloor.floor("bob/resnet")
    profiles.publish(other, profiles.planted())
    return AnalysisScene(floor, default, fast, _import(floor), _search(floor))


def _search(floor: Floor) -> ScheduleTask:
    """400 trials of the hottest kernel's workload, of which three crashed and one has no time."""
    search = recorded("conv-random")
    task = add_workload(floor, search, key=profiles.WORKLOAD)
    trials = planted()
    for at in (7, 8, 9):
        trials[at] |= {"outcome": "crash", "seconds": [], "failure_detail": "no such block"}
    trials[10]["seconds"] = [1e10]
    add_trials(task, search.sketches, trials, Job.objects.latest("pk"))
    return task


def _import(floor: Floor) -> ImportedProfile:
    """A trace that somebody recorded elsewhere: ``third`` takes most."""
    names = {"first": 30, "act": 5, "second": 20, "third": 90, "last": 10}
    kernels = [
        {
            "cat": "Node",
            "name": f"{name}_kernel_time",
            "ts": 100 * place,
            "dur": took,
            "args": {"op_name": "Relu" if name == "act" else "MatMul"},
        }
        for place, (name, took) in enumerate(names.items())
    ]
    trace = store(json.dumps(kernels).encode(), floor.alice)
    return profile_import(
        actor=floor.alice, revision=floor.revision, sha256=trace.sha256, target="a laptop"
    )


def network() -> onnx.ModelProto:
    """Six nodes, of which node 4 is computed from constants."""
    weights = [
        helper.make_tensor(name, TensorProto.FLOAT, [8, 8], [0.5] * 64) for name in ("w", "v", "u")
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], name="act"),
        helper.make_node("MatMul", ["b", "w"], ["c"], name="second"),
        helper.make_node("MatMul", ["c", "w"], ["d"], name="third"),
        helper.make_node("Add", ["v", "u"], ["k"], name="constant"),
        helper.make_node("MatMul", ["d", "k"], ["y"], name="last"),
    ]
    graph = helper.make_graph(
        nodes,
        "six",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 8])],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _default_profile() -> dict[str, object]:
    sites = [
        call_site("first", 700, (0, "exact"), (1, "exact"), precision="float32"),
        call_site("rest", 250, (2, "exact"), (3, "exact"), (5, "exact"), precision="float32"),
    ]
    return shopfloor.profile(call_sites=sites, kernels=[], folded=[4], total_ns=1000)
