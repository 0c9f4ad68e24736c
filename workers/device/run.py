"""Run jobs: a network runs on this device with inputs of the person who requested it.

The outputs are those of the first run. Then runs are timed, and the outputs are compared with those
of the network in float32 without optimisations.
"""

from statistics import median
from typing import Any

from hpcfair.arrays import write_arrays
from hpcfair.measurement.types import Timing
from hpcfair.tickets import BuildTicket, RunTicket
from workers.device.errors import JobFailure
from workers.device.input_run import WARMUP, InputRun, MeasuredRun
from workers.device.ports import DeviceSettings, Hub
from workers.device.workspace import workspace
from workers.fleet.probe import ThisMachine


def work(hub: Hub, settings: DeviceSettings, here: ThisMachine) -> dict[str, Any]:
    """Run the network of a run job on its inputs, store outputs and times; returns a summary.

    Raises:
        JobFailure: the inputs do not fit, no backend runs here, or the time limit is exceeded.
        CandidateFailed: the build does not open or run.
        HubError: the hub refused the outputs.
        LeaseLost, Cancelled: see :class:`~workers.device.ports.Hub`.
    """
    graph = hub.ticket.graph
    if graph is None:
        raise JobFailure("invalid", "graph_not_found", "Inspect the revision before running it.")
    ticket = RunTicket.from_json(hub.read("run_of_job"))
    with workspace(settings.work, "run") as folder:
        hub.progress("inputs", 0, None, "copying inputs and network")
        run = InputRun(hub, settings, here, graph, ticket, folder)
        hub.progress("run", 0, None, run.backend)
        measured = run.measure()
        hub.progress("compare", 0, None, "running the network in float32")
        deviation, not_compared = run.compare(measured.outputs)
        hub.progress("store", 0, None, "storing the outputs")
        archive = folder / "outputs.npz"
        write_arrays(archive, measured.outputs)
        report = _report(measured, deviation, not_compared)
        hub.write("run_store", report=report, outputs=hub.keep(archive))
    return {"summary": _summary(run.backend, ticket.build, measured.timing)}


def _report(
    measured: MeasuredRun, deviation: dict[str, float] | None, not_compared: str
) -> dict[str, Any]:
    """The report for the hub, as ``registry/schemas/remote-run.json`` describes it."""
    timing = measured.timing
    return {
        "samples_ns": list(timing.samples_ns) if timing else [],
        "first_ns": measured.first_ns,
        "warmup": WARMUP if timing else 0,
        "peak_rss_bytes": timing.peak_rss_bytes if timing else None,
        "isolation": measured.isolation,
        "outputs": [
            {"name": name, "dtype": array.dtype.name, "shape": list(array.shape)}
            for name, array in measured.outputs.items()
        ],
        "deviation": deviation,
        "not_compared": not_compared,
    }


def _summary(backend: str, build: BuildTicket | None, timing: Timing | None) -> str:
    what = f"{backend}, {build.tolerance}" if build else f"the published model in {backend}"
    if timing is None:
        return f"{what}: not timed"
    middle_ms = median(timing.samples_ns) / 1e6
    return f"{what}: median {middle_ms:.3g} ms of {len(timing.samples_ns)} runs"
