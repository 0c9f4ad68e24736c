"""Cases of PyTorch."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.frameworks.cases.live import NEW, Live

WORDS = np.random.default_rng(4).integers(0, 10, (len(NEW), 5))


class Scorer(torch.nn.Module):
    """Two inputs, a dictionary of outputs, normalisation and dropout."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table = torch.nn.Linear(4, 8)
        self.words = torch.nn.Embedding(10, 8)
        self.norm = torch.nn.BatchNorm1d(8)
        self.drop = torch.nn.Dropout(0.5)
        self.score = torch.nn.Linear(8, 3)

    def forward(self, table: Any, words: Any) -> dict[str, Any]:
        hidden = self.norm(self.table(table) + self.words(words).mean(1))
        return {"score": self.score(self.drop(torch.relu(hidden))), "hidden": hidden}


def module() -> Live:
    """A module in training mode, which it keeps."""
    scorer = Scorer()
    scorer(torch.from_numpy(NEW), torch.from_numpy(WORDS))
    assert scorer.training
    return _live(scorer, NEW, WORDS)


def program() -> Live:
    """An exported program."""
    live = module()
    batch = torch.export.Dim("N")
    arguments = tuple(map(torch.from_numpy, live.inputs.values()))
    exported = torch.export.export(
        live.model.eval(), arguments, dynamic_shapes=({0: batch}, {0: batch})
    )
    return Live(exported, live.examples, live.inputs, live.outputs)


def program_file() -> Live:
    """The file of an exported program."""
    live = program()
    path = Path(tempfile.mkdtemp()) / "scorer.pt2"
    torch.export.save(live.model, path)
    return Live(path, live.examples, live.inputs, live.outputs)


def _live(model: torch.nn.Module, *arrays: Any) -> Live:
    is_training = model.training
    with torch.no_grad():
        outputs = model.eval()(*map(torch.from_numpy, arrays))
    model.train(is_training)
    named = {name: tensor.numpy() for name, tensor in outputs.items()}
    return Live(model, arrays, dict(zip(("table", "words"), arrays, strict=True)), named)
