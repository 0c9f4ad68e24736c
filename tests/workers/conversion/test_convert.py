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


def encoder_decoder(name: str) -> tuple[Any, Any]:
    """A class of transformers and a small configuration of it."""
    import transformers  # noqa: PLC0415  takes seconds

    usual = {"vocab_size": 99, "d_model": 32, "pad_token_id": 0, "eos_token_id": 1}
    if name == "T5":
        small = {"d_kv": 8, "d_ff": 64, "num_layers": 1, "num_heads": 4}
        config = transformers.T5Config(**usual, **small, decoder_start_token_id=2)
        return transformers.T5ForConditionalGeneration, config
    sizes = {f"{side}_layers": 1 for side in ("encoder", "decoder")}
    sizes |= {f"{side}_attention_heads": 4 for side in ("encoder", "decoder")}
    sizes |= {f"{side}_ffn_dim": 64 for side in ("encoder", "decoder")}
    audio = {"num_mel_bins": 8, "max_source_positions": 12, "max_target_positions": 64}
    config = transformers.WhisperConfig(**usual, **sizes, **audio, decoder_start_token_id=2)
    return transformers.WhisperForConditionalGeneration, config


@pytest.mark.parametrize("name", ["T5", "Whisper"])
def test_an_encoder_decoder_answers_as_the_model_does(tmp_path: Path, name: str) -> None:
    import torch  # noqa: PLC0415  takes seconds

    kind, config = encoder_decoder(name)
    save(kind, config, tmp_path)
    stated = {"decoder_start_token_id": 2, "eos_token_id": 1, "pad_token_id": 0}
    stated |= {"forced_bos_token_id": 5} if name == "T5" else {"suppress_tokens": [5, 6, 7]}
    (tmp_path / "generation_config.json").write_text(json.dumps(stated))
    report = convert(tmp_path, tmp_path)
    assert report.get("without_cache") is None
    assert "past_key_values.0.encoder.key" in report["inputs"]
    opened = registry.open("onnxruntime", tmp_path / "model.onnx", {"default": True})
    signature = Signature(opened.inputs, opened.outputs)
    generator = TokenGenerator(signature, opened.run, lambda: tmp_path)
    rng, model = np.random.default_rng(0), kind.from_pretrained(tmp_path).eval()
    options = {"max_new_tokens": 20, "do_sample": False, "num_beams": 1}
    if name == "Whisper":
        sounds = rng.standard_normal((2, 8, 24), np.float32)
        expected = model.generate(torch.from_numpy(sounds), **options)
        # Transformers leaves the tokens out that begin the answer.
        assert generator.generate(sounds, 20)[:, 1:].tolist() == expected.tolist()
        return
    sources = rng.integers(3, 99, (2, 9))
    mask = np.ones((2, 9), np.int64)
    mask[1, 5:] = 0
    texts = torch.from_numpy(sources * mask)
    expected = model.generate(texts, attention_mask=torch.from_numpy(mask), **options)
    answers = generator.generate([sources[0], sources[1, :5]], 20)
    assert answers.tolist() == expected.tolist()


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
