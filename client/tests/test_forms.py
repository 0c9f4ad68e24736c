"""A model in the forms of other libraries."""

from pathlib import Path
from typing import Any

import httpx
import numpy as np
import onnx
import onnxruntime
import pytest

from hpcfair.client import Client
from hpcfair.errors import BadInput, MissingPackage, NoModelFile
from hpcfair.runtimes import registry

OID = "3f786850e387550fdab836ed7e6dc881de23001b"
X = np.arange(8, dtype=np.float32).reshape(2, 4)
Y = np.repeat(X.sum(axis=1, keepdims=True) * 0.5, 3, axis=1)
MODEL = "/api/v1/models/lab/tiny"


@pytest.fixture
def published(hub: Any, resolution: dict[str, Any]) -> dict[str, Any]:
    """A hub that also has the published network and its graph."""
    files = [*resolution["files"]]
    hub.on("GET", f"{MODEL}/graph", {"path": "model.onnx", "facts": {"forms": []}})
    hub.on("GET", f"{MODEL}/revisions/{OID}", {"oid": OID, "files": files})
    return resolution


def test_a_session_is_the_runtimes_own_and_opened_as_measured(
    client: Client, resolution: dict[str, Any]
) -> None:
    session = client.load("lab/tiny", as_="session")

    assert isinstance(session, onnxruntime.InferenceSession)
    assert session.get_session_options().intra_op_num_threads == 1
    np.testing.assert_allclose(session.run(None, {"x": X})[0], Y)


def test_a_path_is_verified_and_needs_no_runtime(
    client: Client, resolution: dict[str, Any], tiny: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "installed", dict)

    path = client.load("lab/tiny", as_="path")

    assert isinstance(path, Path)
    assert path.read_bytes() == tiny


def test_as_onnx_the_published_network_is_asked_for(
    hub: Any, client: Client, resolution: dict[str, Any], sent: Any
) -> None:
    proto = client.load("lab/tiny", as_="onnx")

    assert isinstance(proto, onnx.ModelProto)
    assert sent(hub.requests[0])["runtimes"] == {}


def test_a_network_that_is_not_onnx_has_no_such_form(
    hub: Any, client: Client, resolution: dict[str, Any]
) -> None:
    resolution |= {"files": [hub.keep(b"....TFL3", "net.tflite")], "entry_point": "net.tflite"}

    with pytest.raises(NoModelFile, match=r"net\.tflite is not in ONNX"):
        client.load("lab/tiny", as_="onnx")


@pytest.mark.parametrize(
    ("how", "reason"), [({"as_": "fortran"}, "session"), ({"as_": "session"}, "isolated")]
)
def test_other_forms_are_refused_before_the_hub_is_asked(
    hub: Any, client: Client, how: Any, reason: str
) -> None:
    with pytest.raises(BadInput, match=reason):
        client.load("lab/tiny", isolated=True, **how)
    assert hub.requests == []


def test_a_network_is_converted_to_torch_and_can_be_trained(
    client: Client, published: dict[str, Any]
) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx2fx")

    module = client.load("lab/tiny", as_="torch")

    loss = module(torch.from_numpy(X)).sum()
    assert loss.item() == pytest.approx(Y.sum())
    loss.backward()
    assert all(weight.grad is not None for weight in module.parameters())


def test_a_converter_that_is_missing_is_named(
    client: Client, published: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setitem(__import__("sys").modules, "onnx2fx", None)

    with pytest.raises(MissingPackage, match=r"pip install 'hpcfair\[torch\]'"):
        client.load("lab/tiny", as_="torch")


def test_the_program_of_the_author_is_preferred_if_the_hub_accepted_it(
    hub: Any, client: Client, published: dict[str, Any], tmp_path: Path
) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    original = torch.nn.Sequential(torch.nn.Linear(4, 3)).eval()
    program = torch.export.export(original, (torch.zeros(2, 4),))
    torch.export.save(program, tmp_path / "model.pt2")
    file = hub.keep((tmp_path / "model.pt2").read_bytes(), "model.pt2")
    commit = {"oid": OID, "files": [*published["files"], file]}
    hub.on("GET", f"{MODEL}/revisions/{OID}", commit)
    forms = [{"format": "torch-export", "path": "model.pt2"}]
    hub.on("GET", f"{MODEL}/graph", {"path": "model.onnx", "facts": {"forms": forms}})

    module = client.load("lab/tiny", as_="torch")

    assert dict(module.state_dict()).keys() == {"0.weight", "0.bias"}
    x = torch.from_numpy(X)
    torch.testing.assert_close(module(x), original(x))


def test_a_revision_that_was_not_inspected_has_its_first_onnx_file(
    hub: Any, client: Client, tiny: bytes, answer: Any
) -> None:
    hub.on("GET", MODEL, {"name": "lab/tiny"})
    hub.on("GET", f"{MODEL}/revisions/main", {"oid": OID, "files": [hub.keep(tiny, "a.onnx")]})
    refusal: httpx.Response = answer(404, "graph_not_found")
    hub.on("GET", f"{MODEL}/graph", refusal)

    assert isinstance(client.reuse("lab/tiny", as_="onnx").model, onnx.ModelProto)
