"""A live hub with a model whose builds are real, for snippets to load."""

from pathlib import Path
from typing import Any

import pytest

from registry import schemas
from registry.selectors.repository.revision import revision_get
from registry.services.results.build import builds_publish
from registry.services.results.record import record_add
from registry.services.work.attempt import job_claim, job_succeed
from registry.services.work.job import job_submit
from registry.states import JobKind
from registry.tables import Device, MLModel, User
from tests.factories import make_mlmodel, readme, store, tiny_onnx
from tests.inspector import inspector
from tests.registry import shopfloor
from workers.jobs.device import register
from workers.jobs.run import drain

__all__ = ["inspector"]

NAME = "lab/galaxy-cnn"


@pytest.fixture
def hub(live_server: Any, settings: Any, data_dir: Path) -> str:
    """Address of a live hub."""
    settings.HUB_URL = live_server.url
    return str(live_server.url)


@pytest.fixture
def digits(hub: str, lab: object, charlie: User) -> MLModel:
    """``lab/galaxy-cnn``, inspected, with a build of each of two classes for this machine."""
    files = {"README.md": readme(library_name="onnx"), "model.onnx": tiny_onnx()}
    mlmodel = make_mlmodel(NAME, actor=charlie, files=files)
    drain([JobKind.INSPECT], here=None)
    publish_builds(mlmodel)
    return mlmodel


def publish_builds(mlmodel: MLModel) -> None:
    """Publish the default, and builds of the classes exact and int8; all open the same network."""
    register()
    device = Device.objects.get()
    revision = revision_get(mlmodel)
    job_submit(actor=None, kind=JobKind.TUNE, revision=revision, target=device.target)
    held = job_claim(device_name=device.name, kinds=[JobKind.TUNE], target=device.target.slug)
    assert held is not None
    handle = {"job_uuid": held.job_uuid, "fence": held.fence}
    files = {"model.onnx": store(tiny_onnx()).sha256}
    default = {"is_baseline": True, "ratio": 1.0, "verdict": "same", "tolerance": "exact"}
    classes = {
        "all": default | {"deviation": {"relative_l2": 2e-7}},
        "half": {
            "ratio": 0.8,
            "tolerance": "exact",
            "deviation": {"relative_l2": 1e-7},
            "accuracy": 0.98,
        },
        "one": {
            "ratio": 0.5,
            "tolerance": "int8",
            "deviation": {"relative_l2": 0.0137},
            "accuracy": 0.9715,
        },
    }
    many = {"execution": {"batch": 4, "streams": "cores"}, "throughput_per_s": 1000.0}
    offline = {"all": default | many, "half": {"ratio": 0.8, **many}}
    for scenario, columns_of in (
        ("single-stream", classes),
        ("offline", offline),
        ("multi-stream", offline),
    ):
        builds = _recorded(revision, device, handle, files, scenario, columns_of)
        builds_publish(**handle, builds=builds, scenario=scenario)
    job_succeed(**handle, result={})


def _recorded(
    revision: Any, device: Device, handle: Any, files: Any, scenario: str, columns_of: Any
) -> list[dict[str, Any]]:
    """Builds by the number of their threads, with records."""
    builds = []
    for threads, columns in columns_of.items():
        document = shopfloor.document(revision, threads, job=handle["job_uuid"])
        if "execution" in columns:
            document = shopfloor.offline(document, scenario=scenario)
        one = {"name": "x", "dtype": "float32", "shape": [2, 4], "distribution": "normal"}
        document["identity"] |= {
            "inputs": [one],
            "artifact_sha256": schemas.artifact_sha256(files),
        }
        document["target"]["slug"] = device.target.slug
        record = record_add(**handle, document=document)
        own = {"files": files, "entry_point": "model.onnx", "runtime_options": {}}
        builds.append(shopfloor.build(record.pk, threads, **own, **columns))
    return builds
