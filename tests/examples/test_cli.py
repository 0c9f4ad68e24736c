"""``python -m examples.models``."""

from pathlib import Path

import pytest

from examples.models import __main__ as command
from examples.models.catalogue import MAKERS, Maker


def _run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr("sys.argv", ["examples", *arguments])
    command.main()


def test_the_list_names_every_example(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _run(monkeypatch, "--list")
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == list(MAKERS)
    assert {"digits", "digits_mlp", "squeezenet", "resnet50"} <= set(listed)


@pytest.mark.slow
def test_an_example_is_written_where_it_was_asked_for(digits_mlp_folder: Path) -> None:
    names = {path.name for path in digits_mlp_folder.iterdir()}
    assert names == {
        *("model.onnx", "model.tflite", "model-int8.tflite", "README.md", "samples.npz"),
    }


def test_what_was_written_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def write(folder: Path, seed: int) -> Path:
        (folder / "model.onnx").write_bytes(b"?" * (1000 + seed))
        return folder

    monkeypatch.setitem(MAKERS, "digits", Maker(write, "a file"))
    _run(monkeypatch, "digits", str(tmp_path), "--seed", "234")
    size, path = capsys.readouterr().out.split()
    assert (size, path) == ("1,234", str(tmp_path / "model.onnx"))


@pytest.mark.parametrize("arguments", [["nothing", "out"], ["digits"], []])
def test_a_wrong_call_says_how_it_is_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    with pytest.raises(SystemExit):
        _run(monkeypatch, *arguments)
    assert "usage:" in capsys.readouterr().err
