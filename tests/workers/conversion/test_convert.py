"""What the converter refuses, and why."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from hpcfair.generation import TokenGenerator
from hpcfair.runtimes import registry
from hpcfair.signature import Signature
from tests.programs import needs
from tests.workers.conversion.folders import (
    SIZES,
    bert_folder,
    changed_config,
    resnet_folder,
    save,
)

pytestmark = [needs("transformers"), pytest.mark.slow]


def convert(folder: Path, out: Path) -> dict[str, Any]:
    """Convert in this process."""
    from workers.conversion import convert as converter  # noqa: PLC0415  imports transformers

    return converter.convert(str(folder), str(out))


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    return bert_folder(tmp_path / "bert")


def test_a_network_of_pictures_computes_what_the_model_does(tmp_path: Path) -> None:
    report = convert(resnet_folder(tmp_path / "resnet"), tmp_path)
    assert report.get("error") is None
    assert (report["inputs"], report["dynamic"]) == (["pixel_values"], ["batch"])
    assert report["deviation"] < 1e-5
    network = onnx.load(tmp_path / "model.onnx")
    dimensions = network.graph.input[0].type.tensor_type.shape.dim
    assert [one.dim_param or one.dim_value for one in dimensions] == ["batch", 3, 32, 32]
    # Paths of the machine that exported it are nobody's business.
    assert str(tmp_path).encode() not in (tmp_path / "model.onnx").read_bytes()
    assert b"site-packages" not in (tmp_path / "model.onnx").read_bytes()


def test_a_text_model_without_its_pooling_layer_is_loaded_without_it(tmp_path: Path) -> None:
    import transformers  # noqa: PLC0415  takes seconds

    from workers.conversion.weights import load  # noqa: PLC0415  imports PyTorch

    config = transformers.BertConfig(**SIZES)
    save(partial(transformers.BertModel, add_pooling_layer=False), config, tmp_path)
    model, unused = load(transformers.BertModel, config, tmp_path)
    assert (model.pooler, unused) == (None, [])


def test_a_decoder_with_its_cache_continues_texts_as_the_model_does(tmp_path: Path) -> None:
    import torch  # noqa: PLC0415  takes seconds
    import transformers  # noqa: PLC0415

    # Grouped queries, and a window that the texts outgrow.
    config = transformers.MistralConfig(
        **SIZES | {"num_hidden_layers": 1}, num_key_value_heads=2, sliding_window=8
    )
    save(transformers.MistralForCausalLM, config, tmp_path)
    report = convert(tmp_path, tmp_path)
    assert report.get("without_cache") is None
    lengths = ["past_sequence", "past_sequence + sequence", "sequence"]
    assert report["dynamic"] == ["batch", *lengths]
    assert report["outputs"] == ["logits", "present.0.key", "present.0.value"]
    opened = registry.open("onnxruntime", tmp_path / "model.onnx", {"default": True})
    signature = Signature(opened.inputs, opened.outputs)
    generator = TokenGenerator(signature, opened.run, lambda: tmp_path)
    prompts = np.random.default_rng(0).integers(3, 300, (2, 9))
    model = transformers.MistralForCausalLM.from_pretrained(tmp_path).eval()
    expected = model.generate(torch.from_numpy(prompts), max_new_tokens=20, do_sample=False)
    assert generator.generate(prompts, 20).tolist() == expected.tolist()


def refused(folder: Path) -> dict[str, str]:
    """The refusal of a folder."""
    error: dict[str, str] = convert(folder, folder)["error"]
    assert not (folder / "model.onnx").exists()
    return error


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        (
            {"num_hidden_layers": 1},
            "belong to nothing that it describes: bert.encoder.layer.1.attention.output.LayerNorm",
        ),
        ({"num_hidden_layers": 3}, "are missing: bert.encoder.layer.2."),
        ({"num_hidden_layers": 10**9}, "describes 1,000,000,000 layers; its files have 41 tensors"),
        ({"vocab_size": 10**12}, "weights; its files have 41 tensors with"),
        ({"vocab_size": 400}, "embeddings.weight has the shape [300, 32] instead of [400, 32]"),
    ],
)
def test_a_configuration_that_lies_about_its_weights(
    bert: Path, members: dict[str, Any], reason: str
) -> None:
    changed_config(bert, **members)
    error = refused(bert)
    assert error["code"] == "weights_differ"
    assert reason in error["detail"]


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        (
            {"model_type": "mine", "auto_map": {"AutoModel": "model.Mine"}},
            "does not know the model_type 'mine'. Its config.json names code in the repository",
        ),
        ({"architectures": ["BertForMyself"]}, "has no model class 'BertForMyself'"),
        ({"architectures": ["AutoConfig"]}, "has no model class 'AutoConfig'"),
        ({"architectures": ["GPT2Model"]}, "belongs to the model_type 'gpt2'"),
        ({"quantization_config": {"quant_method": "gptq"}}, "quantised by a library"),
        ({"hidden_size": "wide"}, "transformers refuses config.json"),
        ({"model_type": "timm_wrapper"}, "needs the library timm besides transformers"),
    ],
)
def test_what_transformers_does_not_know(bert: Path, members: dict[str, Any], reason: str) -> None:
    changed_config(bert, **members)
    error = refused(bert)
    assert error["code"] == "not_convertible"
    assert reason in error["detail"]


@pytest.mark.parametrize(
    ("index", "reason"),
    [
        ({}, "lacks the members metadata and weight_map"),
        ({"metadata": {}, "weight_map": {"a": "../b"}}, "files that are not beside it: ../b."),
    ],
)
def test_an_index_of_other_files(bert: Path, index: dict[str, Any], reason: str) -> None:
    (bert / "model.safetensors").rename(bert / "part.safetensors")
    (bert / "model.safetensors.index.json").write_text(json.dumps(index))
    error = refused(bert)
    assert error["code"] == "not_convertible"
    assert reason in error["detail"]


def test_sizes_that_depend_on_values_are_the_reason(tmp_path: Path) -> None:
    import transformers  # noqa: PLC0415  takes seconds

    members = {**SIZES, "max_position_embeddings": 96, "attention_window": 4}
    save(transformers.LongformerModel, transformers.LongformerConfig(**members), tmp_path)
    error = refused(tmp_path)
    assert error["code"] == "conversion_failed"
    assert "depend on the values of its inputs" in error["detail"]
