"""Folders of ``transformers`` with seeded weights, made from configurations."""

import json
import struct
from pathlib import Path
from typing import Any

#: Sizes by the names that most configurations of transformers have.
SIZES = {
    "vocab_size": 300,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
}


def bert_folder(folder: Path) -> Path:
    """A BERT that classifies texts, with a tokeniser's file."""
    import transformers  # noqa: PLC0415  only where such a folder is made

    config = transformers.BertConfig(**SIZES, num_labels=3)
    save(transformers.BertForSequenceClassification, config, folder)
    (folder / "tokenizer.json").write_text('{"version": "1.0"}')
    return folder


def resnet_folder(folder: Path) -> Path:
    """A ResNet that classifies pictures of 32 x 32."""
    import transformers  # noqa: PLC0415

    config = transformers.ResNetConfig(
        embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1], num_labels=5
    )
    save(transformers.ResNetForImageClassification, config, folder)
    preprocessor = {"crop_size": {"height": 32, "width": 32}}
    (folder / "preprocessor_config.json").write_text(json.dumps(preprocessor))
    return folder


def save(kind: Any, config: Any, folder: Path) -> None:
    """Write a model of the class ``kind`` with seeded weights."""
    import torch  # noqa: PLC0415

    torch.manual_seed(0)
    kind(config).save_pretrained(folder)


def files_of(folder: Path) -> dict[str, bytes | str]:
    """The files of a folder, to be published."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def changed_config(folder: Path, **members: Any) -> None:
    """Change members of config.json."""
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | members))


def stated_weights(**shapes: list[int]) -> bytes:
    """A safetensors file that states float32 tensors of these shapes and has zeros for them."""
    header: dict[str, Any] = {}
    end = 0
    for name, shape in shapes.items():
        begin, size = end, 4
        for length in shape:
            size *= length
        end = begin + size
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(end)
