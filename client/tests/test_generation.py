"""Generating tokens by a decoder with a cache."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from hpcfair.client import Client
from hpcfair.decoder import DecoderInputs
from hpcfair.errors import BadInput, NotSupported
from hpcfair.generation import TokenGenerator
from hpcfair.record import record_id
from hpcfair.runtimes import registry
from hpcfair.runtimes.base import TensorInfo
from hpcfair.signature import Signature

TOKENS, SIZE, LENGTH = 11, 4, 24
RNG = np.random.default_rng(7)
TABLE = RNG.standard_normal((TOKENS, SIZE)).astype(np.float32)
PLACES = RNG.standard_normal((LENGTH, SIZE)).astype(np.float32)
HEAD = (2 * RNG.standard_normal((SIZE, TOKENS))).astype(np.float32)


def decoder_onnx() -> bytes:
    """One layer of attention over all tokens, whose keys are their values."""
    constants = {
        "table": TABLE,
        "places": PLACES,
        "head": HEAD,
        "one": np.array([1]),
        "both": np.array([1, 2]),
        "least": np.array(-1e9, np.float32),
        "unit": np.array(1, np.float32),
    }
    present = "present.0.key"
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["words"]),
        helper.make_node("Gather", ["places", "position_ids"], ["where"]),
        helper.make_node("Add", ["words", "where"], ["queries"]),
        helper.make_node("Unsqueeze", ["queries", "one"], ["new"]),
        helper.make_node("Concat", ["past_key_values.0.key", "new"], [present], axis=2),
        helper.make_node("Transpose", [present], ["turned"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["new", "turned"], ["scores"]),
        helper.make_node("Cast", ["attention_mask"], ["kept"], to=TensorProto.FLOAT),
        helper.make_node("Sub", ["unit", "kept"], ["left"]),
        helper.make_node("Mul", ["left", "least"], ["hidden"]),
        helper.make_node("Unsqueeze", ["hidden", "both"], ["spread"]),
        helper.make_node("Add", ["scores", "spread"], ["masked"]),
        helper.make_node("Softmax", ["masked"], ["weights"], axis=-1),
        helper.make_node("MatMul", ["weights", present], ["heads"]),
        helper.make_node("Squeeze", ["heads", "one"], ["mixed"]),
        helper.make_node("MatMul", ["mixed", "head"], ["logits"]),
    ]
    integers, floats = TensorProto.INT64, TensorProto.FLOAT
    inputs = {
        "input_ids": (integers, ["batch", "sequence"]),
        "attention_mask": (integers, ["batch", "total"]),
        "position_ids": (integers, ["batch", "sequence"]),
        "past_key_values.0.key": (floats, ["batch", 1, "past", SIZE]),
    }
    outputs = {
        "logits": (floats, ["batch", "sequence", TOKENS]),
        present: (floats, ["batch", 1, "total", SIZE]),
    }
    graph = helper.make_graph(
        nodes,
        "decoder",
        [helper.make_tensor_value_info(name, *each) for name, each in inputs.items()],
        [helper.make_tensor_value_info(name, *each) for name, each in outputs.items()],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8)
    return bytes(model.SerializeToString())


def continued(prompt: list[int], count: int, eos: tuple[int, ...] = ()) -> list[int]:
    """The prompt with the most probable tokens, each computed from all tokens again."""
    tokens = list(prompt)
    for _ in range(count):
        keys = TABLE[tokens] + PLACES[: len(tokens)]
        scores = keys @ keys[-1]
        weights = np.exp(scores - scores.max())
        tokens.append(int(np.argmax(weights @ keys / weights.sum() @ HEAD)))
        if tokens[-1] in eos:
            break
    return tokens


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("decoder") / "model.onnx"
    path.write_bytes(decoder_onnx())
    return registry.open("onnxruntime", path, {"default": True})


def generator(opened: Any, **options: Any) -> TokenGenerator:
    signature = Signature(opened.inputs, opened.outputs)
    return TokenGenerator(signature, opened.run, lambda: None, **options)


def test_a_loaded_decoder_continues_prompts_up_to_the_token_that_its_files_state(
    hub: Any, client: Client, resolution: dict[str, Any], opened: Any
) -> None:
    tensors = {
        side: [{"name": t.name, "dtype": t.dtype, "shape": list(t.shape)} for t in which]
        for side, which in (("inputs", opened.inputs), ("outputs", opened.outputs))
    }
    end = continued([3, 1, 4], 6)[6]
    files = {"generation_config.json": b'{"eos_token_id": [%d], "pad_token_id": 0}' % end}
    figures = [
        {"context": 128, "first_token_ns": 8.4e6, "next_token_ns": 4e5, "tokens_per_s": 2500.0},
        {"context": 512, "first_token_ns": 3.1e7, "next_token_ns": 5e5, "tokens_per_s": 2000.0},
    ]
    document = {"generation": figures}
    hub.on("GET", f"/api/v1/records/{record_id(document)}", lambda _: document)
    resolution |= {
        "record_id": record_id(document),
        "signature": tensors,
        "files": [hub.keep(decoder_onnx(), "model.onnx")],
        "companions": [hub.keep(data, path) for path, data in files.items()],
    }
    with client.load("lab/tiny") as m:
        m.warmup()
        assert m.generate([3, 1, 4], 6).tolist() == continued([3, 1, 4], 6, (end,))
        assert m.generate([3, 1, 4], 6, eos=[]).tolist() == continued([3, 1, 4], 6)
        assert list(m.stream([3, 1, 4], 6)) == continued([3, 1, 4], 6, (end,))[3:]
        assert (
            "  generation prompt of 128 tokens: first token after 8.4 ms, then 2,500 tokens/s\n"
            "             prompt of 512 tokens: first token after 31 ms, then 2,000 tokens/s\n"
        ) in m.explain()


def test_prompts_of_one_array_are_filled_up_and_those_of_other_lengths_are_not(
    opened: Any,
) -> None:
    prompts = [[3, 1, 4], [5, 9, 2]]
    end = continued(prompts[0], 4)[4]
    rows = [continued(prompt, 6, (end,)) for prompt in prompts]
    assert len(rows[0]) < len(rows[1])
    filled = generator(opened, eos=end).generate(np.array(prompts, np.int32), 6)
    assert filled.tolist() == [rows[0] + [end] * (len(rows[1]) - len(rows[0])), rows[1]]
    ragged = [[3], [1, 4, 1, 5, 9], [2, 6]]
    texts = generator(opened).generate(ragged, 8)
    assert [text.tolist() for text in texts] == [continued(prompt, 8) for prompt in ragged]


def test_random_tokens_are_repeated_by_their_seed(opened: Any) -> None:
    def sampled(**options: Any) -> list[int]:
        tokens: list[int] = generator(opened, **options).generate([3, 1, 4], 12).tolist()
        return tokens

    assert sampled(temperature=2.0, seed=1) == sampled(temperature=2.0, seed=1)
    assert sampled(temperature=2.0, seed=1) != sampled(temperature=2.0, seed=2)
    greedy = continued([3, 1, 4], 12)
    assert sampled(temperature=2.0, top_k=1, seed=1) == greedy
    assert sampled(temperature=2.0, top_p=1e-9, seed=1) == greedy
    assert sampled(temperature=0) == greedy


@pytest.mark.parametrize(
    ("ids", "count", "options", "reason"),
    [
        ([], 4, {}, "Prompt 0 is empty"),
        ([[1], []], 4, {}, "Prompt 1 is empty"),
        (["a"], 4, {}, "not one list of token ids"),
        ("Once upon", 4, {}, "Prompts are token ids"),
        (np.ones((2, 3), np.float32), 4, {}, "float32"),
        (np.ones((1, 2, 3), np.int64), 4, {}, "Prompts are token ids"),
        ([3, 11], 4, {}, "has the token 11; the model knows 11 tokens"),
        ([3, -1], 4, {}, "has the token -1"),
        ([3], 0, {}, "max_new_tokens is 0"),
        ([3], 4, {"top_k": 3}, "without a temperature"),
        ([3], 4, {"temperature": -1.0}, "temperature is -1.0"),
        ([3], 4, {"temperature": 1.0, "top_p": 1.5}, "top_p is 1.5"),
        ([3], 4, {"eos": "."}, "eos is"),
    ],
)
def test_what_is_no_prompt_or_no_option_is_refused(
    opened: Any, ids: Any, count: int, options: Any, reason: str
) -> None:
    with pytest.raises(BadInput, match=reason):
        generator(opened, **options).generate(ids, count)


def test_a_text_may_not_be_longer_than_the_model_permits(opened: Any, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"max_position_embeddings": 24, "eos_token_id": null}')
    signature = Signature(opened.inputs, opened.outputs)
    generates = TokenGenerator(signature, opened.run, lambda: tmp_path)
    assert len(generates.generate([1] * 20, 4)) == LENGTH
    with pytest.raises(BadInput, match=r"20 tokens, and 5 new ones make 25; .* at most 24"):
        generates.generate([1] * 20, 5)


def test_other_networks_do_not_generate() -> None:
    ids = TensorInfo("input_ids", "int64", ("batch", "sequence"))
    logits = TensorInfo("logits", "float32", ("batch", "sequence", 11))
    with pytest.raises(NotSupported, match=r"no decoder with a cache.*input_ids: int64"):
        TokenGenerator(Signature((ids,), (logits,)), lambda _: {}, lambda: None)
    # An encoder's states would be needed as well.
    past = TensorInfo("past_key_values.0.key", "float32", ("batch", 2, "past", 8))
    states = TensorInfo("encoder_hidden_states", "float32", ("batch", "encoded", 8))
    assert DecoderInputs.of((ids, past)) is not None
    assert DecoderInputs.of((ids, past, states)) is None


def test_a_signature_counts_the_tensors_of_a_cache() -> None:
    ids = TensorInfo("input_ids", "int64", ("batch", "sequence"))
    cache = tuple(TensorInfo(f"c{n}", "float32", ("batch", 2, "past", 8)) for n in range(6))
    assert str(Signature((ids, *cache), (ids, ids))) == (
        "int64[batch,sequence], 6 x float32[batch,2,past,8] -> "
        "int64[batch,sequence], int64[batch,sequence]"
    )


@pytest.mark.parametrize("name", ["total_sequence_length", "past_sequence_length + 1", "N"])
def test_the_mask_is_as_long_as_the_cache_and_the_new_tokens(name: str) -> None:
    decoder = DecoderInputs.of(
        (
            TensorInfo("input_ids", "int64", ("batch", "sequence")),
            TensorInfo("attention_mask", "int64", ("batch", name)),
            TensorInfo("past_key_values.0.key", "float32", ("batch", 2, "past", 8)),
        )
    )
    assert decoder is not None
    sizes = decoder.with_mask_length({"batch": 1, "sequence": 3, "past": 5})
    assert sizes == {"batch": 1, "sequence": 3, "past": 5, name: 8}
