"""Links of profiles that real runtimes wrote, with and without the names in them.

The names tell the truth; links that are made without them are compared with it.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest

from registry.nodelinks.link import Linked, link
from registry.profilefiles.formats import read
from registry.profilefiles.types import ProfileFile
from tests.registry.nodelinks.networks import of_onnx
from tests.registry.profilefiles.recorded import onnxruntime_trace, openvino_report
from workers.testing import networks

NETWORKS: dict[str, tuple[Any, dict[str, Any]]] = {
    "residual-cnn": (networks.residual_cnn, {"x": np.ones((1, 3, 16, 16), np.float32)}),
    "mlp": (networks.mlp, {"x": np.ones((1, 8), np.float32)}),
    "transformer": (networks.transformer, {"ids": np.ones((1, 6), np.int64)}),
}


@pytest.fixture(scope="module")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], ProfileFile]:
    """Each network's profiles."""
    profiles = {}
    for name, (make, inputs) in NETWORKS.items():
        folder = tmp_path_factory.mktemp(name)
        path = folder / "model.onnx"
        onnx.save(make(), path)
        profiles[name, "onnxruntime"] = read(onnxruntime_trace(path, inputs))
        profiles[name, "plain"] = read(onnxruntime_trace(path, inputs, optimise=False))
        try:
            report = openvino_report(path, inputs, folder, as_json=False)
        except ImportError:
            continue
        profiles[name, "openvino"] = read(report)
    return profiles


def linked(profile: ProfileFile, name: str) -> Linked:
    return link(of_onnx(NETWORKS[name][0]()), profile.calls, is_ordered=True)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("tool", ["onnxruntime", "plain", "openvino"])
def test_a_profile_fits_its_network_and_covers_it(
    profiles: dict[tuple[str, str], ProfileFile], name: str, tool: str
) -> None:
    if (name, tool) not in profiles:
        pytest.skip("OpenVINO is not installed")
    result = linked(profiles[name, tool], name)
    assert result.fit.is_same, str(result.fit)
    count = len(NETWORKS[name][0]().graph.node)
    covered = {index for each in result.links for index in each} | set(result.folded)
    assert covered == set(range(count))


def test_every_node_without_optimisation_has_the_call_that_names_it(
    profiles: dict[tuple[str, str], ProfileFile],
) -> None:
    """ONNX Runtime numbers nodes without a name by their position, which is the truth here."""
    for name in NETWORKS:
        profile = profiles[name, "plain"]
        for call, each in zip(profile.calls, linked(profile, name).links, strict=True):
            assert int(call.name.rpartition("_")[2]) in each


def test_profiles_of_other_networks_are_recognised(
    profiles: dict[tuple[str, str], ProfileFile],
) -> None:
    for (name, tool), profile in profiles.items():
        for other in NETWORKS:
            assert linked(profile, other).fit.is_same == (name == other), (name, tool, other)


@pytest.mark.parametrize("name", ["residual-cnn", "mlp"])
def test_links_without_names_are_those_that_the_names_tell(
    profiles: dict[tuple[str, str], ProfileFile], name: str
) -> None:
    for (named, _), profile in profiles.items():
        if named != name:
            continue
        bare = replace(
            profile, calls=tuple(replace(c, names=(), outputs=()) for c in profile.calls)
        )
        truth, inferred = linked(profile, name), linked(bare, name)
        compared = 0
        for call, exact, guess in zip(profile.calls, truth.links, inferred.links, strict=True):
            assert not guess or not exact or exact.keys() & guess.keys(), call.name
            compared += bool(guess and exact)
        # Most calls, so that nothing is shown by links that are not made.
        assert compared > len(profile.calls) / 2
        assert inferred.fit.is_same, str(inferred.fit)
