"""Encoder-decoders with their caches, as modules of PyTorch. Exports: ``test_convert.py``."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpcfair.generation import TokenGenerator
from hpcfair.runtimes.base import Array, TensorInfo
from hpcfair.signature import Signature
from tests.programs import needs

pytestmark = [needs("transformers"), pytest.mark.slow]

STATED = {"decoder_start_token_id": 2, "eos_token_id": 1, "pad_token_id": 0}


def small_model(name: str) -> Any:
    """A model of the class ``name`` with seeded weights, whose answers vary."""
    import torch  # noqa: PLC0415  takes seconds
    import transformers  # noqa: PLC0415

    sides = ("encoder", "decoder")
    sizes = {"d_model": 32, "vocab_size": 99, "max_position_embeddings": 64}
    sizes |= {f"{side}_layers": 2 for side in sides}
    sizes |= {f"{side}_attention_heads": 4 for side in sides}
    sizes |= {f"{side}_ffn_dim": 64 for side in sides}
    kind = getattr(transformers, name)
    model = kind(kind.config_class(**sizes, **STATED, tie_word_embeddings=False)).eval()
    torch.manual_seed(2)
    for weight in model.parameters():
        if weight.dim() > 1:
            # With the usual 0.02 the answer is one token again and again.
            torch.nn.init.normal_(weight, std=0.4)
    return model


def generator(model: Any, folder: Path) -> TokenGenerator:
    """Generates by the module that is exported."""
    import torch  # noqa: PLC0415  takes seconds

    from workers.conversion import encoderdecoder, inputs  # noqa: PLC0415  imports transformers

    specs = encoderdecoder.encoder_decoder_specs(model)
    options = {"return_dict": True, "use_cache": True}
    module = encoderdecoder.CachedEncoderDecoder(model, list(specs), options)

    def run(arrays: dict[str, Array]) -> dict[str, Array]:
        tensors = [torch.from_numpy(arrays[name]) for name in specs]
        with torch.no_grad():
            return {name: each.numpy() for name, each in module.results(*tensors).items()}

    examples = inputs.arrays_of(specs, model.config, inputs.long_sizes(model.config, 2), seed=0)
    input_tensors = [
        TensorInfo(
            name,
            str(array.dtype),
            tuple(spec.axes.get(axis, size) for axis, size in enumerate(array.shape)),
        )
        for (name, spec), array in zip(specs.items(), examples, strict=True)
    ]
    results = run(dict(zip(specs, examples, strict=True)))
    output_tensors = [TensorInfo(name, "float32", each.shape) for name, each in results.items()]
    return TokenGenerator(
        Signature(tuple(input_tensors), tuple(output_tensors)), run, lambda: folder
    )


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("BartForConditionalGeneration", {"forced_eos_token_id": 1}),
        ("MBartForConditionalGeneration", {"forced_bos_token_id": 7}),
        ("PegasusForConditionalGeneration", {}),
        ("MarianMTModel", {"bad_words_ids": [[0]], "forced_eos_token_id": 1}),
        ("M2M100ForConditionalGeneration", {"forced_bos_token_id": 9}),
    ],
)
def test_answers_are_those_of_transformers(
    tmp_path: Path, name: str, members: dict[str, Any]
) -> None:
    import torch  # noqa: PLC0415  takes seconds
    import transformers  # noqa: PLC0415

    model = small_model(name)
    model.generation_config = transformers.GenerationConfig(**STATED, **members)
    (tmp_path / "generation_config.json").write_text(json.dumps(STATED | members))
    sources = np.random.default_rng(0).integers(3, 99, (2, 9))
    mask = np.ones((2, 9), np.int64)
    mask[1, 5:] = 0
    texts, options = torch.from_numpy(sources * mask), {"do_sample": False, "num_beams": 1}
    expected = model.generate(
        texts, attention_mask=torch.from_numpy(mask), max_new_tokens=20, **options
    ).tolist()
    assert len({*expected[0]} | {*expected[1]}) >= 7
    answers = generator(model, tmp_path).generate([sources[0], sources[1, :5]], 20)
    assert answers.tolist() == expected
