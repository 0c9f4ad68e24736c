"""Examples that several files of tests look at."""

from pathlib import Path

import pytest

from examples.models import __main__ as command


@pytest.fixture(scope="session")
def digits_mlp_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The perceptron of digits, trained once, by the command that people use."""
    out = tmp_path_factory.mktemp("digits") / "a" / "b"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["examples", "digits_mlp", str(out)])
        command.main()
    return out
