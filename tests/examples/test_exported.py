"""Architectures written layer by layer: their published sizes, their classes, their signals."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from examples.models import exported
from examples.models.convnext import convnext
from examples.models.light import images
from examples.models.seeding import SCORE_SPREAD, settle
from examples.models.text import Bert
from examples.models.vision import mobilenet_v2, resnet18, ssd_mobilenet
from workers.inspection.inspect import inspect

pytestmark = pytest.mark.slow

TINY = Bert(layers=2, width=32, heads=2, vocabulary=300, sequence=16, classes=4)


@pytest.mark.parametrize(
    ("build", "expected", "macs"),
    [
        # Multiplications at full size as published: 1.8, 0.3 and 1.2 thousand millions.
        (resnet18, "residual-cnn", 1_814_073_344),
        (mobilenet_v2, "depthwise-cnn", 300_774_272),
        (ssd_mobilenet, "detection", 1_237_129_408),
        (TINY.model, "transformer", None),
        (convnext, "depthwise-cnn", 145_717_440),
    ],
    ids=["resnet18", "mobilenetv2", "ssd", "bert", "convnext"],
)
def test_each_is_what_its_paper_describes(
    build: Callable[[np.random.Generator], onnx.ModelProto],
    expected: str,
    macs: int | None,
    tmp_path: Path,
) -> None:
    model = build(np.random.default_rng(0))
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, tmp_path / "model.onnx")
    found = inspect(str(tmp_path))
    (graph,) = found["graphs"]
    assert graph["architecture_class"] == expected
    assert macs in {None, graph["macs"]}
    assert {tensor["shape"][0] for tensor in graph["signature"]["inputs"]} == {"N"}
    assert found["warnings"] == []


def _layers(model: onnx.ModelProto, feed: exported.Feed) -> dict[str, np.ndarray]:  # type: ignore[type-arg]
    """What convolutions, dense layers and products put out."""
    made = [n.output[0] for n in model.graph.node if n.op_type in {"Conv", "Gemm", "MatMul"}]
    outputs = {value.name for value in model.graph.output}
    probed = onnx.ModelProto()
    probed.CopyFrom(model)
    probed.graph.output.extend(onnx.ValueInfoProto(name=n) for n in made if n not in outputs)
    session = onnxruntime.InferenceSession(probed.SerializeToString())
    return dict(zip(made, session.run(made, feed), strict=True))


@pytest.mark.parametrize(
    ("build", "size"), [(mobilenet_v2, 96), (ssd_mobilenet, 128)], ids=["mobilenetv2", "ssd"]
)
def test_signals_keep_a_sane_size_through_all_layers(
    build: Callable[[np.random.Generator, int], onnx.ModelProto], size: int
) -> None:
    rng = np.random.default_rng(0)
    model = build(rng, size)
    settle(model, {"input": images(rng, 2, (3, size, size))}, folded=True)
    pictures = images(rng, 2, (3, size, size))
    found = _layers(model, {"input": pictures})
    for value in found.values():
        assert 0.2 < value.std() < 20
    # As of trained networks, answers to pictures that nobody could tell apart are alike.
    session = onnxruntime.InferenceSession(model.SerializeToString())
    noise = np.float32(0.01) * pictures[:, :, ::-1]
    for plain, noisy in zip(
        session.run(None, {"input": pictures}),
        session.run(None, {"input": pictures + noise}),
        strict=True,
    ):
        assert np.linalg.norm(noisy - plain) < 0.1 * np.linalg.norm(plain)
    # Every head makes scores, at all scales alike.
    heads = [value for name, value in found.items() if "/head/" in name]
    assert len(heads) == (12 if build is ssd_mobilenet else 0)
    for value in heads:
        assert 0.3 * SCORE_SPREAD < value.std() < 3 * SCORE_SPREAD


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        tiny = replace(
            exported.ARCHITECTURES["bert_small"],
            build=TINY.model,
            draw=lambda rng, count: dict(TINY.texts(rng, count)),
        )
        patch.setitem(exported.ARCHITECTURES, "bert_small", tiny)
        return exported.make("bert_small", tmp_path_factory.mktemp("bert") / "a" / "b")


def test_a_folder_holds_network_card_and_samples_that_fit(bert: Path) -> None:
    found = inspect(str(bert))
    assert found["samples"]["fits"]
    assert found["samples"]["outputs"]
    assert not found["samples"]["labels"]
    assert found["samples"]["count"] == exported.ARCHITECTURES["bert_small"].published
    text = (bert / "README.md").read_text()
    assert "untrained" in text
    assert "Its answers mean nothing" in text


def test_padding_changes_no_answer(bert: Path) -> None:
    session = onnxruntime.InferenceSession(bert / "model.onnx")
    with np.load(bert / "samples.npz") as samples:
        ids, mask = samples["inputs/input_ids"], samples["inputs/attention_mask"]
        expected = samples["outputs/logits"]
    assert set(mask.sum(axis=1)) > {TINY.sequence}
    assert mask[0].all()
    other = np.where(mask == 1, ids, 7)
    got = session.run(None, {"input_ids": other, "attention_mask": mask})[0]
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-3)


def test_texts_are_told_apart_and_tokens_count(bert: Path) -> None:
    session = onnxruntime.InferenceSession(bert / "model.onnx")
    with np.load(bert / "samples.npz") as samples:
        ids, mask = samples["inputs/input_ids"], samples["inputs/attention_mask"]
        logits = samples["outputs/logits"]
    assert logits.std(axis=0).max() > 0.1
    assert 0.3 * SCORE_SPREAD < logits.std() < 3 * SCORE_SPREAD
    changed = ids.copy()
    changed[:, 1] = (changed[:, 1] + 1) % TINY.vocabulary
    got = session.run(None, {"input_ids": changed, "attention_mask": mask})[0]
    assert np.abs(got - logits).max(axis=1).min() > 1e-3


def test_equal_seeds_give_equal_networks() -> None:
    first, second, other = (
        TINY.model(np.random.default_rng(seed)).SerializeToString() for seed in (1, 1, 2)
    )
    assert first == second
    assert first != other


def test_another_size_of_picture_moves_the_anchors_only() -> None:
    model = ssd_mobilenet(np.random.default_rng(0), 128)
    shapes = [
        [dim.dim_value or dim.dim_param for dim in value.type.tensor_type.shape.dim]
        for value in model.graph.output
    ]
    anchors = 3 * 64 + 6 * (16 + 4 + 1 + 1 + 1)
    assert shapes == [["N", anchors, 4], ["N", anchors, 91]]


def test_both_forms_of_convnext_compute_the_same() -> None:
    """Only the form without transpositions has none, and all weights are equal."""
    forms = [
        convnext(np.random.default_rng(0), 64, form) for form in ("exported", "channels_first")
    ]
    assert [any(n.op_type == "Transpose" for n in m.graph.node) for m in forms] == [True, False]
    feed = {"input": images(np.random.default_rng(1), 2, (3, 64, 64))}
    sessions = [onnxruntime.InferenceSession(model.SerializeToString()) for model in forms]
    exported_form, channels_first = (session.run(None, feed)[0] for session in sessions)
    assert exported_form.std() > 0.5
    np.testing.assert_allclose(channels_first, exported_form, atol=1e-4)
