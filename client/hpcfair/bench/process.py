"""Starts the process of one side of a comparison, and talks to it."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hpcfair.errors import RuntimeFailed
from hpcfair.measurement.types import Timing
from hpcfair.runtimes.base import Array
from hpcfair.typingnames import Self


class SideProcess:
    """A fresh process with one build open; use as a context manager.

    Args:
        inputs: A ``.npz`` of the arrays to run on, by tensor name.
        query: ``samples``, ``batch`` and ``streams`` of a run that is a query of samples.

    Raises RuntimeFailed if the runtime cannot open or run the build.
    """

    def __init__(
        self,
        runtime: str,
        path: Path,
        options: Mapping[str, Any],
        inputs: Path,
        query: Mapping[str, int] | None = None,
    ) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "hpcfair.bench.side"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            # Ctrl-C must reach the parent only, which then ends this process.
            start_new_session=True,
        )
        try:
            self._ask(
                {
                    "runtime": runtime,
                    "path": str(path),
                    "options": dict(options),
                    "inputs": str(inputs),
                }
            )
            if query is not None:
                self._ask({"query": dict(query)})
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def time(self, runs: int, warmup: int) -> Timing:
        """Time ``runs`` consecutive runs, after ``warmup`` untimed ones."""
        reply = self._ask({"time": {"runs": runs, "warmup": warmup}})
        return Timing(**{**reply, "samples_ns": tuple(reply["samples_ns"])})

    def rest(self) -> None:
        """Return once the runtime's threads are idle."""
        self._ask({"rest": True})

    def outputs(self, scratch: Path) -> dict[str, Array]:
        """Outputs of one run, by tensor name; written through a file at ``scratch``."""
        self._ask({"run": str(scratch)})
        with np.load(scratch, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None  # noqa: S101  both are pipes
        assert self._process.stdout is not None  # noqa: S101
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            raise RuntimeFailed(
                f"The process running the build ended with status {self._process.wait()}."
            )
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise RuntimeFailed(str(reply["error"]))
        return reply
