"""The recipe of ``docs/tuning.md`` for programs that use ONNX Runtime alone."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).parents[2] / "docs/tuning.md"
#: What a program does around the recipe: two runs, and what the session's affinities were.
PROGRAM = """
import json, sys
import numpy as np

inside, own = [], os.sched_getaffinity(0)
unwatched = session


class Watched:
    def run(self, *args):
        inside.append(sorted(os.sched_getaffinity(0)))
        return unwatched.run(*args)


session = Watched()
for _ in range(200):
    (y,) = run({"x": np.ones((2, 4), np.float32)})
assert np.allclose(y, 2.0)
assert os.sched_getaffinity(0) == own
json.dump([sorted(own), inside[-1]], sys.stdout)
"""


@pytest.mark.skipif(
    sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2 or not DOCUMENT.exists(),
    reason="needs the repository, Linux and two processors",
)
def test_the_recipe_places_the_caller_in_a_run_and_frees_it_afterwards(
    tmp_path: Path, tiny: bytes
) -> None:
    (tmp_path / "model.onnx").write_bytes(tiny)
    (recipe,) = re.findall(
        r"```python not-run\n(import os\n.*?)```", DOCUMENT.read_text(), re.DOTALL
    )
    command = [sys.executable, "-c", recipe + PROGRAM]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    own, inside = map(set, json.loads(done.stdout))
    assert inside
    assert inside < own
