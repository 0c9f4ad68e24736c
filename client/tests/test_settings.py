"""Threads and devices that the user states."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hpcfair import machine
from hpcfair.client import Client
from hpcfair.errors import BadInput

X = np.ones((2, 4), np.float32)


def test_stated_threads_replace_the_measured_ones_and_explain_says_so(
    client: Client, resolution: dict[str, Any]
) -> None:
    model = client.load("lab/tiny", threads=3)

    assert model._runner.runtime.session.get_session_options().intra_op_num_threads == 3
    assert "3, as you stated; the figures were measured with others" in model.explain()
    assert "as you stated" not in client.load("lab/tiny").explain()
    np.testing.assert_allclose(model(X), np.full((2, 3), 2.0))


def test_the_defaults_of_a_runtime_take_threads_too(
    client: Client, resolution: dict[str, Any]
) -> None:
    resolution |= {"build": None, "record_id": None}

    session = client.load("lab/tiny", as_="session", threads=2, target=None)

    assert session.get_session_options().intra_op_num_threads == 2


def test_a_runtime_that_cannot_have_them_says_why(
    client: Client, resolution: dict[str, Any]
) -> None:
    pytest.importorskip("openvino")
    resolution["build"] |= {"runtime": "openvino", "runtime_options": {"hint": "throughput"}}

    with pytest.raises(BadInput, match=r"threads=2: .*'throughput' excludes the option threads"):
        client.load("lab/tiny", threads=2)


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"threads": 0}, "whole number"),
        ({"threads": True}, "whole number"),
        ({"threads": 2, "as_": "path"}, "opens no runtime"),
        ({"device": "cuda"}, "no NVIDIA GPU"),
        ({"device": "cuda:1"}, "CUDA_VISIBLE_DEVICES"),
        ({"device": "cpu", "target": None}, "exclude each other"),
    ],
)
def test_what_cannot_be_is_refused_before_the_hub_is_asked(
    hub: Any, client: Client, monkeypatch: pytest.MonkeyPatch, how: Any, reason: str
) -> None:
    here = replace(machine.describe(), accelerators=())
    monkeypatch.setattr(machine, "describe", lambda: here)

    with pytest.raises(BadInput, match=reason):
        client.load("lab/tiny", **how)
    assert hub.requests == []


def test_devices_limit_the_builds_that_are_offered(
    hub: Any,
    client: Client,
    resolution: dict[str, Any],
    sent: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gpu = machine.Accelerator("NVIDIA H200", capability="9.0")
    here = machine.describe()
    features = tuple(sorted({*here.features, *gpu.features}))
    here = replace(here, features=features, accelerators=(gpu,))
    monkeypatch.setattr(machine, "describe", lambda: here)

    client.load("lab/tiny", device="cpu")
    assert not set(gpu.features) & set(sent(hub.requests[0])["machine"]["features"])
    with pytest.raises(BadInput, match=r"no build for the GPU\. It is the fastest"):
        client.load("lab/tiny", device="cuda")
    request = sent(hub.calls("POST", "/api/v1/models/lab/tiny/resolve")[-1])
    assert {"cuda", "nvidia-h200"} <= set(request["machine"]["features"])
