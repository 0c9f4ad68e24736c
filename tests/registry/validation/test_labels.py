"""Labels drawn from cards and files."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from registry.states import RepositoryKind
from registry.validation.architectures import loader_of
from registry.validation.labels import (
    MAX_LABEL,
    MAX_LABELS,
    LabelValue,
    labels_of,
    library_of,
    task_of,
)

MODEL, DATASET = RepositoryKind.MODEL, RepositoryKind.DATASET
BERT = {"model_type": "bert", "architectures": ["BertForMaskedLM"]}


def values(
    kind: RepositoryKind, card: dict[str, object], *paths: str, **config: object
) -> list[str]:
    return [label.value for label in labels_of(kind, card, paths, config)]


def test_a_card_s_values_become_labels_as_clients_spell_them() -> None:
    card: dict[str, object] = {
        "library_name": "timm",
        "pipeline_tag": "image-classification",
        "tags": ["stars", "stars", "timm"],
        "language": ["en", "de"],
        "datasets": ["mnist"],
        "base_model": "a/b",
        "license": "Apache-2.0",
    }
    assert values(MODEL, card) == [
        *("timm", "image-classification", "en", "de", "stars"),
        *("dataset:mnist", "base_model:a/b", "license:apache-2.0"),
    ]


def test_a_data_set_s_labels_stand_behind_their_keys() -> None:
    card: dict[str, object] = {
        "language": "en",
        "task_categories": ["tabular"],
        "size_categories": "n<1K",
        "license": ["mit", "cc0-1.0"],
        "tags": ["stars"],
        "pipeline_tag": "of no meaning here",
    }
    assert values(DATASET, card, "a.onnx") == [
        *("task_categories:tabular", "language:en", "size_categories:n<1K", "stars"),
        *("license:mit", "license:cc0-1.0"),
    ]


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("model.onnx", "onnx"),
        ("onnx/model.onnx", "onnx"),
        ("model-00001-of-00002.safetensors", "safetensors"),
        ("pytorch_model.bin", "pytorch"),
        ("weights.pth", "pytorch"),
        ("tf_model.h5", "tf"),
        ("flax_model.msgpack", "jax"),
        ("q4.gguf", "gguf"),
        ("runs/events.out.tfevents.1", "tensorboard"),
    ],
)
def test_files_tell_their_format(path: str, label: str) -> None:
    assert values(MODEL, {}, path) == [label]
    assert labels_of(MODEL, {}, [path], {}) == [LabelValue("format", label)]


def test_files_tell_the_library_where_the_card_does_not() -> None:
    assert library_of({}, ["modules.json", "config.json"], BERT) == "sentence-transformers"
    assert library_of({}, ["adapter_config.json"], {}) == "peft"
    assert library_of({}, ["config.json"], BERT) == "transformers"
    assert library_of({"library_name": "mine"}, ["modules.json"], BERT) == "mine"
    assert library_of({}, ["config.json"], {}) == ""


def test_the_architecture_tells_the_task_where_the_card_does_not() -> None:
    assert task_of({}, BERT) == "fill-mask"
    assert task_of({"pipeline_tag": "other"}, BERT) == "other"
    assert loader_of(BERT) == ("AutoModelForMaskedLM", "fill-mask")
    assert loader_of({"model_type": "x", "architectures": ["Odd"]}) == ("", "")
    assert loader_of({"architectures": ["BertForMaskedLM"]}) == ("", "")


@pytest.mark.parametrize(
    ("model_type", "name", "task"),
    [
        ("t5", "T5ForConditionalGeneration", "text2text-generation"),
        ("whisper", "WhisperForConditionalGeneration", "automatic-speech-recognition"),
        ("blip", "BlipForConditionalGeneration", "image-text-to-text"),
        ("wav2vec2", "Wav2Vec2ForSequenceClassification", "audio-classification"),
        ("owlvit", "OwlViTForObjectDetection", "zero-shot-object-detection"),
        ("vit", "ViTModel", "image-feature-extraction"),
        ("clip", "CLIPModel", "zero-shot-image-classification"),
        ("marian", "MarianMTModel", "text2text-generation"),
        (
            "speech-encoder-decoder",
            "SpeechEncoderDecoderModel",
            "automatic-speech-recognition",
        ),
        ("gpt2", "GPT2LMHeadModel", "text-generation"),
    ],
)
def test_one_ending_of_a_name_stands_for_the_tasks_of_several_types(
    model_type: str, name: str, task: str
) -> None:
    assert task_of({}, {"model_type": model_type, "architectures": [name]}) == task


_VALUES = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text(),
    lambda inner: some.lists(inner) | some.dictionaries(some.text(), inner),
    max_leaves=5,
)
_KEYS = some.sampled_from(
    ["tags", "language", "license", "datasets", "base_model", "task_ids", "library_name"]
)


@given(
    some.sampled_from([MODEL, DATASET]),
    some.dictionaries(_KEYS, _VALUES),
    some.lists(some.text(min_size=1)),
)
def test_any_card_gives_labels_that_can_be_kept(
    kind: RepositoryKind, card: dict[str, object], paths: list[str]
) -> None:
    labels = labels_of(kind, card, paths, {})

    assert len({label.value for label in labels}) == len(labels) <= MAX_LABELS
    for label in labels:
        assert 0 < len(label.value) <= MAX_LABEL
        assert "\x00" not in label.value
        assert len(label.kind) <= 32
