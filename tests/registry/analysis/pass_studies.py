"""Studies of compiler passes, for tests."""

from typing import Any

from registry.services.results.passes import pass_trial_add
from registry.services.work.attempt import job_claim, job_succeed
from registry.services.work.job import job_submit
from registry.states import JobKind
from registry.tables import Graph
from tests.registry import shopfloor
from tests.registry.shopfloor import Floor


def trial(
    role: str,
    passes: str,
    *,
    compile: float | None = None,  # noqa: A002  as the column
    latency: float | None = None,
    **columns: Any,
) -> dict[str, Any]:
    """A trial whose intervals reach 1 % to both sides."""
    made: dict[str, Any] = {
        "backend": "tvm",
        "toolchain": "apache-tvm 0.27",
        "architecture_class": "plain-cnn",
        "role": role,
        "passes": passes,
        "outcome": "measured",
    }
    for name, value in (("compile_ratio", compile), ("ratio", latency)):
        if value is not None:
            made |= {name: value, f"{name}_low": value * 0.99, f"{name}_high": value * 1.01}
    return made | columns


def study(name: str, graph_hash: str, *trials: dict[str, Any], private: bool = False) -> Floor:
    """A finished study of a model's network."""
    floor = shopfloor.floor(name, private=private)
    Graph.objects.filter(pk=floor.graph.pk).update(graph_hash=graph_hash)
    job_submit(actor=None, kind=JobKind.PASSES, revision=floor.revision, target=floor.target)
    held = job_claim(device_name=floor.device.name, kinds=[JobKind.PASSES], target=shopfloor.SLUG)
    assert held is not None
    handle = {"job_uuid": held.job_uuid, "fence": held.fence}
    for number, each in enumerate(trials):
        pass_trial_add(**handle, trial={**each, "graph_hash": graph_hash, "number": number})
    job_succeed(**handle, result={})
    return floor
