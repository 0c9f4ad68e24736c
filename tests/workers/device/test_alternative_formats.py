"""Files published beside an ONNX file reach the backends that take them."""

from dataclasses import asdict
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from onnx import numpy_helper

from registry.selectors.results.graph import graph_facts, graph_of
from registry.services.work.attempt import job_claim
from registry.states import JobKind
from registry.tables import Job, MLModel, Revision, User
from tests.factories import make_mlmodel, readme
from tests.workers.hubs import hub_of
from workers.backends.registry import available
from workers.device.network import formats_of, network_of
from workers.jobs import run
from workers.jobs.device import register
from workers.testing import networks
from workers.testing.pt2 import write_pt2
from workers.testing.tflite import Layer, write_dense

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes | str]:
    """The MLP as ONNX and for TensorFlow Lite, and a program of another network."""
    folder = tmp_path_factory.mktemp("forms")
    network = networks.mlp()
    held = {t.name: numpy_helper.to_array(t) for t in network.graph.initializer}
    layers = [Layer(held[f"w{n}"], held[f"b{n}"]) for n in range(3)]
    calibration = np.random.default_rng(0).standard_normal((64, 8)).astype(np.float32)
    tflite = write_dense(folder / "a", layers, calibration=calibration)
    return {
        "README.md": readme(),
        "model.onnx": network.SerializeToString(),
        "model.tflite": tflite.read_bytes(),
        "model.pt2": write_pt2(folder / "b").read_bytes(),
    }


def publish(alice: User, files: dict[str, bytes | str]) -> Revision:
    mlmodel = make_mlmodel("alice/net", actor=alice, files=files)
    run.drain([JobKind.INSPECT], here=None)
    return MLModel.objects.get(pk=mlmodel.pk).refs.get(name="main").revision


def test_inspection_keeps_the_forms_that_fit(alice: User, files: dict[str, bytes | str]) -> None:
    revision = publish(alice, files)
    graph = graph_of(revision)
    assert graph is not None
    facts = graph_facts(graph)
    assert facts.forms == [{"format": "tflite", "path": "model.tflite"}]
    assert asdict(facts)["forms"] == facts.forms
    (warning,) = Job.objects.get(kind=JobKind.INSPECT).result["warnings"]
    assert warning.startswith("model.pt2 does not fit model.onnx")


def test_a_search_is_handed_the_forms_and_their_backends_alone(
    alice: User, files: dict[str, bytes | str], read_here: None, tmp_path: Path
) -> None:
    here = register()
    publish(alice, files)
    ticket = job_claim(device_name=here.device, kinds=[JobKind.TUNE], target=here.spec.slug)
    assert ticket is not None
    assert ticket.graph is not None
    network = network_of(hub_of(ticket), ticket.graph, tmp_path / "model")
    (form,) = network.alternatives
    assert form.format == "tflite"
    assert form.path.read_bytes()[4:8] == b"TFL3"
    assert form.sha256 == sha256(form.path.read_bytes()).hexdigest()
    assert not (tmp_path / "model/model.pt2").exists()
    formats = formats_of(ticket.graph)
    reasons = available(here.spec, ["litert", "torch"], formats)[1]
    assert "needs the model as torch-export, too" in reasons["torch"]
    assert "needs the model" not in reasons.get("litert", "")
