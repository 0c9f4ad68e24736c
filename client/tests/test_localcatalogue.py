"""Search without the hub: over what is in the cache and in that of the site."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import onnx
import pytest

from hpcfair.client import Client
from hpcfair.config import Config
from hpcfair.errors import BadInput
from hpcfair.resolution import PlainModelWarning
from hpcfair.searchresults import Hits
from hpcfair.types import MLModelSummary

ABOUT = {
    "lab/tiny": {
        "title": "Galaxy zoo",
        "description": "Sorts spiral arms.",
        "license": "Apache-2.0",
        "task": "image-classification",
        "library": "onnx",
        "tags": ["astronomy", "Two words"],
        "parameters": 12,
        "architecture_class": "mlp",
    },
    "ada/plain": {"title": "Plain", "license": "MIT", "task": "regression", "tags": []},
}


class NoNetwork(httpx.BaseTransport):
    def handle_request(self, request: httpx.Request) -> httpx.Response:
        raise AssertionError(f"{request.url} was requested.")


@pytest.fixture
def offline(
    client: Client,
    hub: Any,
    resolution: dict[str, Any],
    tiny: bytes,
    config: Config,
    tmp_path: Path,
) -> Client:
    """Has one tuned model in the cache of the site and a published one in its own."""
    resolution["model"] = ABOUT["lab/tiny"]
    client.load("lab/tiny")
    network = onnx.load_from_string(tiny)
    network.doc_string = "another file"
    file = hub.keep(network.SerializeToString(), "model.onnx")
    other = {**resolution, "build": None, "model": ABOUT["ada/plain"], "revision": "1" * 40}
    other["files"] = [file]
    own = replace(config, cache=tmp_path / "own", site_caches=(config.cache,))
    hub.on("POST", "/api/v1/models/ada/plain/resolve", other)
    with pytest.warns(PlainModelWarning):
        Client(config=replace(own, site_caches=()), transport=hub).load("ada/plain")
    return Client(config=replace(own, offline=True), transport=NoNetwork())


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["ada/plain", "lab/tiny"]),
        ("gal", ["lab/tiny"]),
        ("spiral", ["lab/tiny"]),
        # Only names and titles are searched for beginnings of words.
        ("spir", []),
        ('"spiral arms"', ["lab/tiny"]),
        ("plain galaxy", []),
        ("task:regression", ["ada/plain"]),
        ("task:regression task:image-classification", ["ada/plain", "lab/tiny"]),
        ("license:MIT by:ada", ["ada/plain"]),
        ('tag:"two words" tag:astronomy', ["lab/tiny"]),
        ("tag:astronomy tag:physics", []),
        ("class:mlp library:onnx", ["lab/tiny"]),
        ("latency:<1ms", ["lab/tiny"]),
        ("latency:<0.5ms", []),
        ("gain:>1.6 accuracy:>=97%", ["lab/tiny"]),
        ("parameters:<1k size:<1MB", ["lab/tiny"]),
        ('signature:"float32[1,4] -> float32[N,3]"', ["ada/plain", "lab/tiny"]),
        ('signature:"float32[N,5]"', []),
        ('signature:"-> float32[...]"', ["ada/plain", "lab/tiny"]),
        ("sort:latency", ["lab/tiny", "ada/plain"]),
        ("tiny sort:name", ["lab/tiny"]),
    ],
)
def test_a_query_means_what_it_means_on_the_hub(
    offline: Client, query: str, names: list[str]
) -> None:
    hits = offline.search(query)

    assert [hit.name for hit in hits] == names
    assert hits.total == len(names)


def test_a_result_says_what_the_hub_said_when_the_model_was_loaded(offline: Client) -> None:
    (hit,) = offline.search(task="image-classification", target="auto", latency="<1ms")

    assert (hit.title, hit.license, hit.parameters) == ("Galaxy zoo", "Apache-2.0", 12)
    assert hit.signature == "float32[N,4] -> float32[N,3]"
    assert hit.speed is not None
    assert hit.speed.latency_ns == 840_000
    assert hit.speed.gain == pytest.approx(1 / 0.61)


def test_a_search_by_throughput_says_that_of_builds_for_many_samples(
    client: Client, hub: Any, resolution: dict[str, Any], config: Config
) -> None:
    execution = {"batch": 16, "streams": "cores"}
    offline = {"scenario": "offline", "execution": execution, "throughput_per_s": 1240.0}
    resolution["build"] = {**resolution["build"], **offline}
    client.load("lab/tiny", scenario="offline")
    local = Client(config=replace(config, offline=True), transport=NoNetwork())

    (hit,) = local.search(throughput=">1k")
    assert hit.speed is not None
    assert (hit.speed.scenario, hit.speed.throughput_per_s) == ("offline", 1240.0)
    # The time of a query of many samples is no latency.
    assert local.search(sort="latency")[0].speed is None
    assert not local.search(latency="<1s")


def test_what_is_no_longer_in_a_cache_is_not_listed(offline: Client) -> None:
    for tree in offline.cache.layers[0].root.glob("trees/*"):
        tree.rename(tree.with_name("0" * 64))

    assert [hit.name for hit in offline.search()] == ["ada/plain"]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("similar:lab/tiny", "needs the hub"),
        ("sort:downloads", "needs the hub"),
        ("colour:red", "There is no filter 'colour'"),
        ("latency:<5", "units are ns"),
        ("signature:float", "is no signature"),
        ("tolerance:fp3", "There is no tolerance"),
        ("task:", "has no value"),
    ],
)
def test_what_cannot_be_answered_is_refused(offline: Client, query: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        offline.search(query)


def test_results_print_as_a_table():
    hit = MLModelSummary("lab/tiny", license="MIT", task="regression", builds={"avx2": 0.5})
    assert str(Hits((hit,), 3)).splitlines() == [
        "1 of 3 models",
        "name      license  task        fastest build",
        "lab/tiny  MIT      regression  0.50 on avx2",
    ]
    assert str(Hits((), 0, hints=("No task:x.",))) == "0 of 0 models\nNo task:x."
