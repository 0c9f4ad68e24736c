"""Generating answers by an encoder-decoder with a cache."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpcfair.decoder import DecoderInputs
from hpcfair.errors import BadInput
from hpcfair.generation import TokenGenerator
from hpcfair.runtimes.base import Array, TensorInfo
from hpcfair.signature import Signature

TOKENS, SIZE, START, END = 13, 4, 2, 3
RNG = np.random.default_rng(5)
TABLE = RNG.standard_normal((TOKENS, SIZE)).astype(np.float32)
HEAD = (3 * RNG.standard_normal((SIZE, TOKENS))).astype(np.float32)
CACHE = {
    f"{part}.key": TensorInfo(
        f"past_key_values.0.{part}.key", "float32", ("batch", 1, length, SIZE)
    )
    for part, length in (("decoder", "past"), ("encoder", "past_source"))
}
ANSWER = TensorInfo("decoder_input_ids", "int64", ("batch", "sequence"))
TEXT = (
    TensorInfo("input_ids", "int64", ("batch", "source")),
    TensorInfo("attention_mask", "int64", ("batch", "past_source + source")),
)
SOUND = (TensorInfo("input_features", "float32", ("batch", "source", SIZE, 6)),)
OUTPUTS = (
    TensorInfo("logits", "float32", ("batch", "sequence", TOKENS)),
    *(TensorInfo(f"present.0.{name}", "float32", ("batch", 1, "all", SIZE)) for name in CACHE),
)


def run(inputs: Mapping[str, Array]) -> dict[str, Array]:
    """One network in NumPy: an answer's token is that of all tokens and of the source's mean."""
    past, source = (inputs[tensor.name] for tensor in CACHE.values())
    keys = np.concatenate([past, TABLE[inputs["decoder_input_ids"]][:, None]], axis=2)
    if "input_ids" in inputs:
        states = TABLE[inputs["input_ids"]][:, None]
        weights = inputs["attention_mask"][:, None, :, None]
    else:
        features = inputs["input_features"]
        halves = features.reshape(*features.shape[:3], 3, 2).mean(axis=4)
        states = np.swapaxes(halves, 2, 3).reshape(len(features), 1, -1, SIZE)
        weights = np.ones((1, 1, 1, 1))
    states = np.concatenate([source, states], axis=2)
    mean = (states * weights).sum(axis=2) / (np.ones_like(states) * weights).sum(axis=2)
    steps = np.arange(1, keys.shape[2] + 1)[None, None, :, None]
    mixed = (np.cumsum(keys, axis=2) / steps + 3 * mean[:, :, None])[:, 0, past.shape[2] :]
    return {"logits": mixed @ HEAD, "present.0.decoder.key": keys, "present.0.encoder.key": states}


def answer(source: list[int], count: int) -> list[int]:
    """The most probable answer, each token computed from all tokens again."""
    tokens = [START]
    for _ in range(count):
        mixed = TABLE[tokens].mean(axis=0) + 3 * TABLE[source].mean(axis=0)
        tokens.append(int(np.argmax(mixed @ HEAD)))
    return tokens


def generator(folder: Path, inputs: tuple[TensorInfo, ...] = TEXT, **options: Any) -> Any:
    if not (folder / "config.json").exists():
        (folder / "config.json").write_text(json.dumps({"decoder_start_token_id": START}))
    signature = Signature((*inputs, ANSWER, *CACHE.values()), OUTPUTS)
    return TokenGenerator(signature, run, lambda: folder, **options)


def test_answers_begin_with_the_token_that_the_files_state(tmp_path: Path) -> None:
    sources = [[4, 9, 7, 5], [6, 8]]
    generates = generator(tmp_path)
    assert generates.generate(sources[0], 6).tolist() == answer(sources[0], 6)
    assert generates.generate(sources, 6).tolist() == [answer(each, 6) for each in sources]
    assert list(generates.stream(sources[1], 6)) == answer(sources[1], 6)[1:]
    started = generator(tmp_path, start=answer(sources[0], 3)).generate(sources[0], 3)
    assert started.tolist() == answer(sources[0], 6)


def test_sounds_are_sources_as_well(tmp_path: Path) -> None:
    sounds = np.repeat(TABLE[[[4, 9, 7], [6, 6, 8]]].swapaxes(1, 2), 2, axis=2)
    generates = generator(tmp_path, SOUND)
    expected = [answer([4, 9, 7], 6), answer([6, 6, 8], 6)]
    assert generates.generate(sounds, 6).tolist() == expected
    assert generates.generate(sounds[1], 6).tolist() == expected[1]
    with pytest.raises(BadInput, match=r"float32\[4, 5\]; the model takes spectra \[4, 6\]"):
        generates.generate(sounds[0, :, :5], 6)


def test_tokens_are_forced_and_forbidden_as_the_files_state(tmp_path: Path) -> None:
    source = [4, 9, 7, 5]
    forbidden, other = answer(source, 2)[1], 11
    stated = {
        "decoder_start_token_id": START,
        "forced_bos_token_id": other,
        "forced_eos_token_id": END,
        "bad_words_ids": [[forbidden], [1, 2]],
        "suppress_tokens": [999],
    }
    (tmp_path / "generation_config.json").write_text(json.dumps(stated))
    tokens = generator(tmp_path).generate(source, 5).tolist()
    assert (tokens[:2], tokens[-1], forbidden in tokens[2:-1]) == ([START, other], END, False)
    # What the caller begins an answer with is not forced again.
    assert generator(tmp_path, start=[START, other]).generate(source, 4).tolist() == tokens


@pytest.mark.parametrize(
    ("config", "options", "reason"),
    [
        ({}, {}, "do not state the token that begins an answer"),
        ({"decoder_start_token_id": 2}, {"start": "a"}, "start is 'a'"),
        ({"decoder_start_token_id": 2}, {"start": 13}, "the token 13; the model knows 13 tokens"),
        (
            {"decoder_start_token_id": 2, "n_positions": 5},
            {},
            "6; texts of this model have at most 5",
        ),
    ],
)
def test_answers_that_cannot_begin_or_end_are_refused(
    tmp_path: Path, config: Any, options: Any, reason: str
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(BadInput, match=reason):
        generator(tmp_path, **options).generate([4, 9], 5)


def test_distances_between_tokens_limit_no_text(tmp_path: Path) -> None:
    config = {"decoder_start_token_id": 2, "n_positions": 5, "relative_attention_num_buckets": 32}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert generator(tmp_path).generate([4] * 9, 8).tolist() == answer([4] * 9, 8)


def test_the_source_is_empty_behind_the_first_run() -> None:
    text = DecoderInputs.of((*TEXT, ANSWER, *CACHE.values()))
    sound = DecoderInputs.of((*SOUND, ANSWER, *CACHE.values()))
    assert text is not None
    assert sound is not None
    mask = "past_source + source"
    first = text.with_mask_length(text.prompt_sizes(7))
    assert first == {"sequence": 1, "past": 0, "source": 7, "past_source": 0, mask: 7}
    later = text.with_mask_length(text.further_sizes(7))
    assert later == {"sequence": 1, "past": 7, "source": 0, "past_source": 7, mask: 7}
    # A spectrum has one length, and the encoder a state for two frames of it.
    assert sound.prompt_sizes(7) == {"sequence": 1, "past": 0, "source": 1, "past_source": 0}
    assert sound.further_sizes(7) == {"sequence": 1, "past": 7, "source": 0, "past_source": 3}
