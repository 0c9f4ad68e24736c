"""Seeded inputs of a model of transformers, with their shapes from its configuration."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from workers.conversion.errors import ConversionError
from workers.conversion.namedinput import NamedInput
from workers.conversion.namedinputs import named_inputs
from workers.conversion.shapes import picture_shape, spectrum_shape

Array = npt.NDArray[Any]
#: Words of the longer and the shorter examples.
_LONG, _SHORT = 16, 11
#: Samples of sound, of which networks keep one in some hundreds.
_SAMPLES_LONG, _SAMPLES_SHORT = 8000, 6400
_MOST_TOKEN_TYPES = 16
BATCH, WORDS = "batch", "sequence"
_ANSWER = "decoder_sequence"


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of dynamic dimensions: rows, words, words of a decoder, samples of sound, and words in
    a cache."""

    batch: int
    words: int
    answer: int
    samples: int
    past: int


@dataclass(frozen=True, slots=True)
class InputSpec:
    """One input: what makes it, and the names of its dynamic dimensions by axis."""

    make: Callable[[Sizes, np.random.Generator], Array]
    axes: Mapping[int, str]


def long_sizes(config: Any, batch: int) -> Sizes:
    """Sizes at which a model is exported."""
    words = min(_LONG, _most_words(config))
    return Sizes(batch, words, max(3, words // 2), _SAMPLES_LONG, words // 2 + 1)


def short_sizes(config: Any, batch: int) -> Sizes:
    """Other sizes, at which an export is compared."""
    words = min(_SHORT, max(3, _most_words(config) - 2))
    return Sizes(batch, words, max(2, words // 3), _SAMPLES_SHORT, 0)


def specs_of(model: Any, folder: Path) -> dict[str, InputSpec]:
    """The inputs of a model, in the order of its ``forward``.

    Args:
        folder: May have a preprocessor_config.json, with the size of pictures.

    Raises:
        ConversionError: the hub does not know what the model takes.
    """
    config, mains = model.config, _main_inputs(model)
    parameters = inspect.signature(model.forward).parameters
    required = [
        name
        for name, each in parameters.items()
        if each.default is inspect.Parameter.empty
        and each.kind in {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
    ]
    named = {name: _spec(each) for name, each in named_inputs(model).items() if name in parameters}
    makers = _makers(config, folder) | named
    chosen = {*mains, *required, *named, "pixel_values", "bbox"}
    chosen |= {"decoder_input_ids"} if config.is_encoder_decoder else set()
    # Models of text and pictures or sound take both; those of sound alone may know words as well.
    chosen |= {"input_ids"} if {"input_ids", "pixel_values"} <= set(parameters) else set()
    chosen |= {"attention_mask", "token_type_ids"} if "input_ids" in chosen else set()
    unknown = sorted({*mains, *required} - set(makers))
    if unknown:
        raise ConversionError(
            "not_convertible",
            f"The hub does not know how to make the inputs {', '.join(unknown)} of a "
            f"{type(model).__name__}.",
        )
    specs = {name: makers[name] for name in parameters if name in chosen and name in makers}
    if type(model).__name__.endswith("ForMultipleChoice"):
        return {name: _with_choices(spec) for name, spec in specs.items()}
    return specs


def _main_inputs(model: Any) -> list[str]:
    """Names of the inputs that the class calls its main ones."""
    main = model.main_input_name
    if model.config.model_type == "speech-encoder-decoder":
        # Sound has a name of its own, besides the one that stands for any input.
        main = model.encoder.main_input_name
    return [main] if isinstance(main, str) else list(main)


def _spec(named: NamedInput) -> InputSpec:
    axes = {axis: size for axis, size in enumerate(named.shape) if isinstance(size, str)}

    def make(sizes: Sizes, rng: np.random.Generator) -> Array:
        numbers = {
            BATCH: sizes.batch,
            WORDS: sizes.words,
            _ANSWER: sizes.answer,
            "samples": sizes.samples,
            "regions": sizes.answer + 1,
        }
        shape = (numbers[size] if isinstance(size, str) else size for size in named.shape)
        return named.draw(rng, tuple(shape))

    return InputSpec(make, axes)


def _with_choices(spec: InputSpec) -> InputSpec:
    """A text for each of several answers, of which a model chooses one."""

    def make(sizes: Sizes, rng: np.random.Generator) -> Array:
        array = spec.make(replace(sizes, batch=sizes.batch * sizes.answer), rng)
        return array.reshape(sizes.batch, sizes.answer, *array.shape[1:])

    return InputSpec(
        make,
        {0: BATCH, 1: "choices"} | {axis + 1: name for axis, name in spec.axes.items() if axis},
    )


def arrays_of(specs: Mapping[str, InputSpec], config: Any, sizes: Sizes, seed: int) -> list[Array]:
    """Seeded arrays of all inputs, in their order."""
    rng = np.random.default_rng(seed)
    arrays = {name: spec.make(sizes, rng) for name, spec in specs.items()}
    has_cache = any(name.startswith("past_key_values") for name in arrays)
    text = _text_config(config)
    if "input_ids" in arrays and _count(text, "vocab_size") and not has_cache:
        _end_texts(arrays, text)
    return list(arrays.values())


def token_spec(text: Any) -> InputSpec:
    """Numbers of words of a text's configuration."""
    return InputSpec(
        lambda sizes, rng: _tokens(rng, text, (sizes.batch, sizes.words)), {0: BATCH, 1: WORDS}
    )


def _makers(config: Any, folder: Path) -> dict[str, InputSpec]:
    """Every input that the hub can make for a configuration, by name."""
    text = _text_config(config)
    words = {0: BATCH, 1: WORDS}
    makers: dict[str, InputSpec] = {}
    if _count(text, "vocab_size"):
        makers["input_ids"] = token_spec(text)
        makers["attention_mask"] = InputSpec(
            lambda sizes, _: np.ones((sizes.batch, sizes.words), np.int64), words
        )
        makers["decoder_input_ids"] = InputSpec(
            lambda sizes, rng: _tokens(rng, text, (sizes.batch, sizes.answer)),
            {0: BATCH, 1: _ANSWER},
        )
    types = _count(text, "type_vocab_size")
    if 1 < types <= _MOST_TOKEN_TYPES:
        makers["token_type_ids"] = InputSpec(
            lambda sizes, rng: rng.integers(0, types, (sizes.batch, sizes.words)), words
        )
    if _count(text, "max_2d_position_embeddings"):
        makers["bbox"] = InputSpec(
            lambda sizes, rng: np.sort(rng.integers(0, 500, (sizes.batch, sizes.words, 4))),
            words,
        )
    for name, shape in _fixed(config, folder).items():
        makers[name] = InputSpec(_normal(shape), {0: BATCH})
    if "input_values" not in makers:
        makers["input_values"] = InputSpec(
            lambda sizes, rng: _values(rng, (sizes.batch, sizes.samples)),
            {0: BATCH, 1: "samples"},
        )
    return makers


def _fixed(config: Any, folder: Path) -> dict[str, tuple[int, ...]]:
    """Inputs whose shape the configuration fixes, apart from the batch."""
    shapes = {
        "pixel_values": picture_shape(config, folder),
        "input_features": spectrum_shape(config),
    }
    frames, bins = _count(config, "max_length"), _count(config, "num_mel_bins")
    if config.model_type == "audio-spectrogram-transformer" and frames and bins:
        shapes["input_values"] = (frames, bins)
    context, series = _count(config, "context_length"), _count(config, "num_input_channels")
    if context and series:
        shapes["past_values"] = (context, series)
    return {name: shape for name, shape in shapes.items() if shape}


def _normal(shape: tuple[int, ...]) -> Callable[[Sizes, np.random.Generator], Array]:
    return lambda sizes, rng: _values(rng, (sizes.batch, *shape))


def _values(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.standard_normal(shape, np.float32)


def _tokens(rng: np.random.Generator, text: Any, shape: tuple[int, ...]) -> Array:
    """Numbers of words without those that end or fill up texts, nor those of pictures."""
    special = {
        value
        for name, value in text.to_dict().items()
        if name.endswith("token_id") and isinstance(value, int)
    }
    plain = [number for number in range(min(text.vocab_size, 1000)) if number not in special]
    return rng.choice(np.array(plain or [0], np.int64), shape)


def _end_texts(arrays: dict[str, Array], text: Any) -> None:
    """End the texts as tokenisers do, and fill up all but the first one, in place."""
    words, mask = arrays["input_ids"], arrays.get("attention_mask")
    words = words.reshape(-1, words.shape[-1])
    mask = None if mask is None else mask.reshape(words.shape)
    ends, fillers = (getattr(text, f"{name}_token_id", None) for name in ("eos", "pad"))
    for row in range(len(words)):
        length = words.shape[1] - (row if mask is not None else 0)
        if isinstance(ends, int) and 0 <= ends < text.vocab_size:
            words[row, length - 1] = ends
        if isinstance(fillers, int) and 0 <= fillers < text.vocab_size:
            words[row, length:] = fillers
        if mask is not None:
            mask[row, length:] = 0


def _text_config(config: Any) -> Any:
    """The configuration of the texts that a model reads. What CLVP writes has another one."""
    return config.text_config if config.model_type == "clvp" else config.get_text_config()


def _most_words(config: Any) -> int:
    text = _text_config(config)
    limits = [_count(text, name) for name in ("max_position_embeddings", "n_positions")]
    # Some tables of positions begin behind the number of the padding token.
    return min([_LONG + 4, *(limit for limit in limits if limit > 8)]) - 4


def _count(config: Any, name: str) -> int:
    """A positive number of a configuration; 0 if it has none of that name."""
    value = getattr(config, name, None)
    return value if isinstance(value, int) and value > 0 else 0
