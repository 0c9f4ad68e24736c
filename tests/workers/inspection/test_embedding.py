"""Likeness of structure."""

import math
from functools import partial
from pathlib import Path

import onnx
import pytest

from tests.workers.inspection.conftest import facts_of
from tests.workers.inspection.networks import NETWORKS, bert, vgg

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[float]]:
    """Embeddings by name: of the small networks, larger siblings of two, and real ones."""
    makers = {
        **NETWORKS,
        "bert_large": partial(bert, 12, 32, 4),
        "vgg_large": partial(vgg, 16),
    }
    folder = tmp_path_factory.mktemp("networks")
    found = {}
    for name, make in makers.items():
        (folder / f"{name}.onnx").write_bytes(make().SerializeToString())
        found[name] = facts_of(folder, f"{name}.onnx").embedding
    for name in ("resnet50", "vgg19", "inception_v1", "squeezenet"):
        found[f"real_{name}"] = facts_of(LIGHT, f"light_{name}.onnx").embedding
    return found


def _alike(left: list[float], right: list[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


def test_embeddings_have_unit_length_and_one_dimension(vectors: dict[str, list[float]]) -> None:
    assert len({len(vector) for vector in vectors.values()}) == 1
    for vector in vectors.values():
        assert math.isclose(_alike(vector, vector), 1.0, rel_tol=1e-4)
        assert all(math.isfinite(value) for value in vector)


FAMILIES = [
    {"resnet18", "resnet50", "real_resnet50"},
    {"vgg", "vgg_large", "real_vgg19"},
    {"bert", "bert_large"},
    {"real_inception_v1", "real_squeezenet"},
]


@pytest.mark.parametrize("family", FAMILIES, ids=min)
def test_each_network_is_nearest_to_one_of_its_family(
    vectors: dict[str, list[float]], family: set[str]
) -> None:
    for name in family:
        others = vectors.keys() - {name}
        nearest = max(others, key=lambda other: _alike(vectors[name], vectors[other]))
        assert nearest in family, name


def test_a_convolutional_network_is_far_from_a_transformer(
    vectors: dict[str, list[float]],
) -> None:
    assert _alike(vectors["resnet18"], vectors["bert"]) < 0.5
    assert _alike(vectors["vgg"], vectors["lstm"]) < 0.5


def test_an_embedding_is_the_same_every_time(vectors: dict[str, list[float]]) -> None:
    again = facts_of(LIGHT, "light_resnet50.onnx").embedding
    assert again == vectors["real_resnet50"]
