"""Runs blocks in order, as a reader enters them in one terminal and one Python. Its arguments: a
JSON file of ``[language, text]`` pairs.

Exported variables and the folder of the shell live on from block to block, and so do names in
Python. It is run
by the Python of the environment, so it uses the standard library only.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def main(path: str) -> None:
    """Run all blocks; the first that fails ends the program."""
    names: dict[str, object] = {"__name__": "__main__"}
    for number, (language, text) in enumerate(json.loads(Path(path).read_text()), start=1):
        if language == "python":
            exec(compile(text, f"block {number}", "exec"), names)  # noqa: S102 - the purpose
        else:
            _shell(text)
        sys.stdout.flush()


def _shell(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "environment"
        script = f"{text}\nenv -0 > {state}\n"
        subprocess.run(["bash", "-euc", script], check=True)
        pairs = state.read_text().rstrip("\0").split("\0")
    os.environ.update(pair.split("=", 1) for pair in pairs)
    os.chdir(os.environ["PWD"])


if __name__ == "__main__":
    main(sys.argv[1])
