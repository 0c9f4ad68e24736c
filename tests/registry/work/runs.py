"""Parts of tests of remote runs: a network with a signature, inputs, a finished run."""

import io
from typing import Any

import numpy as np

from hpcfair.tickets import JobTicket
from registry.selectors.repository.revision import revision_get
from registry.selectors.results.graph import graph_of
from registry.services.work.attempt import job_claim
from registry.services.work.followup import job_complete
from registry.services.work.run import run_store, run_submit
from registry.states import JobKind
from registry.tables import MLModel, RemoteRun, Target, User
from tests.factories import store
from tests.registry import shopfloor

SIGNATURE = {
    "inputs": [{"name": "x", "dtype": "float32", "shape": ["N", 4]}],
    "outputs": [{"name": "y", "dtype": "float32", "shape": ["N", 3]}],
}


def npz(**arrays: Any) -> bytes:
    """An archive of arrays."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def inputs(user: User, rows: int = 2) -> str:
    """Inputs that fit :data:`SIGNATURE`, uploaded by ``user``; their digest."""
    data = npz(x=np.random.default_rng(rows).random((rows, 4), dtype=np.float32))
    return store(data, user).sha256


def inspected(mlmodel: MLModel) -> Target:
    """Give a model's network :data:`SIGNATURE`, and the hub a target with a device."""
    graph = shopfloor.make_graph(revision_get(mlmodel))
    graph.signature = SIGNATURE
    graph.save()
    return shopfloor.make_machine()[0]


def finished(user: User, mlmodel: MLModel, target: Target) -> RemoteRun:
    """A run of an inspected network that has ended."""
    graph = graph_of(revision_get(mlmodel))
    assert graph is not None
    graph.signature = SIGNATURE
    graph.save()
    run = submit(user, mlmodel, target)
    finish(target)
    return run


def submit(user: User, mlmodel: MLModel, target: Target, **options: Any) -> RemoteRun:
    """A queued run with inputs of ``user``."""
    revision = revision_get(mlmodel)
    revision.mlmodel = mlmodel
    if "inputs" not in options:
        options["inputs"] = inputs(user)
    return run_submit(actor=user, revision=revision, target=target, **options)


def claim(target: Target, device: str = "floor-1") -> JobTicket:
    """The next run of a target, claimed by its device."""
    ticket = job_claim(device_name=device, kinds=[JobKind.RUN], target=target.slug)
    assert ticket is not None
    return ticket


def report(**columns: Any) -> dict[str, Any]:
    """The report of a device."""
    measured = {
        "samples_ns": [1_000_000, 1_100_000, 1_050_000],
        "first_ns": 3_000_000,
        "warmup": 2,
        "peak_rss_bytes": 50_000_000,
        "isolation": "landlock",
        "outputs": [{"name": "y", "dtype": "float32", "shape": [2, 3]}],
        "deviation": {
            "max_absolute": 1e-7,
            "max_relative": 1e-7,
            "relative_l2": 1e-8,
            "cosine": 1.0,
        },
        "not_compared": "",
    }
    return measured | columns


def finish(target: Target) -> bytes:
    """End the next run of a target as a worker does; returns the outputs that it stored."""
    ticket = claim(target)
    held = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    data = npz(y=np.full((2, 3), ticket.fence, np.float32))
    run_store(**held, report=report(), outputs=store(data).sha256)
    job_complete(**held, result={"summary": "done"})
    return data
