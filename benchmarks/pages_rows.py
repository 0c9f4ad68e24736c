"""Rows for :mod:`benchmarks.pages`: ``python -m benchmarks.pages_rows NODES TRIALS``.

Prints the addresses of the pages as JSON.
"""

import json
import sys

import django

django.setup()

from onnx import ModelProto, TensorProto, helper  # noqa: E402

from registry.tables import Job  # noqa: E402
from tests.registry import shopfloor  # noqa: E402
from tests.registry.analysis import profiles, recordedsearches  # noqa: E402
from tests.registry.drawings import document_of, draw  # noqa: E402
from tests.registry.shopfloor import call_site  # noqa: E402
from tests.registry.traces.recorded import recorded  # noqa: E402


def main() -> None:
    """Write the rows."""
    nodes, trials = int(sys.argv[1]), int(sys.argv[2])
    floor = shopfloor.floor("bench/deep")
    draw(floor.graph, document_of(network(nodes)))
    sites = [
        call_site(f"call{at}", 1_000 + 7 * (at % 90), (at, "exact"), precision="float32")
        for at in range(nodes)
    ]
    total_ns = sum(site["median_ns"] for site in sites)
    default, fast = profiles.publish(
        floor,
        shopfloor.profile(call_sites=sites, kernels=[], folded=[], total_ns=total_ns),
        profiles.planted(),
    )
    search = recorded("conv-random")
    task = recordedsearches.add_workload(floor, search, key=profiles.WORKLOAD)
    rows = recordedsearches.planted(trials)
    recordedsearches.add_trials(task, search.sketches, rows, Job.objects.latest("pk"))
    root = "/bench/deep"
    pages = {
        "builds": f"{root}/builds",
        "jobs": f"{root}/jobs",
        "graph": f"{root}/graph",
        "perf": f"{root}/perf?build={default.uuid}",
        "group": f"{root}/perf/groups/1?build={fast.uuid}&tab=loops",
        "workload": f"/workloads/{task.uuid}",
        "compare": "/compare?model=bench/deep",
    }
    sys.stdout.write(json.dumps(pages) + "\n")


def network(count: int) -> ModelProto:
    """Residual blocks of four nodes without names, ``count`` nodes in all."""
    weight = helper.make_tensor("w", TensorProto.FLOAT, [8, 8], [0.1] * 64)
    made, last, shortcut = [], "x", "x"
    for number in range(count):
        out = f"t{number}"
        match number % 4:
            case 0:
                shortcut = last
                made.append(helper.make_node("MatMul", [last, "w"], [out]))
            case 1:
                made.append(helper.make_node("Relu", [last], [out]))
            case 2:
                made.append(helper.make_node("MatMul", [last, "w"], [out]))
            case _:
                made.append(helper.make_node("Add", [last, shortcut], [out]))
        last = out
    graph = helper.make_graph(
        made,
        "deep",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 8])],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, ["N", 8])],
        [weight],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


if __name__ == "__main__":
    main()
