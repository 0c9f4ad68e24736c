"""Runs the blocks of a page as a person would: in one shell and one Python, in a folder."""

import doctest
import os
import select
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from tests.manual.blocks import Block

#: Address of the hub in the manual's texts.
WRITTEN_URL = "http://127.0.0.1:8000"
_PATIENCE_S = 1200.0
_SHELL = """
set -euo pipefail
while IFS= read -r path <&"$1"; do source "$path"; echo >&"$2"; done
"""
_PYTHON = """
import sys
namespace = {"__name__": "__main__"}
with open(int(sys.argv[1])) as scripts, open(int(sys.argv[2]), "w") as done:
    for line in scripts:
        path = line.strip()
        with open(path) as script:
            exec(compile(script.read(), path, "exec"), namespace)
        sys.stdout.flush()
        print(file=done, flush=True)
"""
_COMMANDS = {
    "bash": ("bash", "-c", _SHELL, "bash"),
    "python": (sys.executable, "-c", _PYTHON),
}
_OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Session:
    """A shell and a Python interpreter that keep their state from block to block.

    Args:
        folder: Working folder.
        url: Address of the hub, in place of :data:`WRITTEN_URL`.
        typed: What a person would type when commands ask.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str], url: str, typed: str) -> None:
        self._folder = folder
        self._environment = environment
        self._url = url
        self._scripts = folder / ".blocks"
        self._scripts.mkdir(parents=True)
        self._typed = self._scripts / "typed"
        self._typed.write_text(typed)
        self._running: dict[str, _Interpreter] = {}

    def run(self, block: Block) -> None:
        """Run a block, and compare what it prints with what the page shows.

        Raises:
            AssertionError: it failed, or printed something else.
        """
        if block.language not in self._running:
            with self._typed.open() as typed:
                self._running[block.language] = _Interpreter(
                    _COMMANDS[block.language], self._folder, self._environment, typed
                )
        script = self._scripts / str(block).replace("/", "-")
        # With the line numbers of the page.
        script.write_text("\n" * block.line + block.text.replace(WRITTEN_URL, self._url))
        printed = self._running[block.language].run(script, str(block))
        if block.output is not None:
            checker = doctest.OutputChecker()
            assert checker.check_output(block.output, printed, _OPTIONS), f"{block}: {printed}"

    def close(self) -> None:
        """End both."""
        for interpreter in self._running.values():
            interpreter.close()


class _Interpreter:
    """A process that runs the scripts whose paths it reads from a pipe, one after another."""

    def __init__(
        self,
        command: tuple[str, ...],
        folder: Path,
        environment: Mapping[str, str],
        typed: IO[str],
    ) -> None:
        self._out = (folder / ".blocks" / f"{Path(command[0]).name}.out").open("w+")
        self._errors = (folder / ".blocks" / f"{Path(command[0]).name}.err").open("w+")
        scripts, self._scripts = os.pipe()
        self._done, done = os.pipe()
        self._process = subprocess.Popen(
            [*command, str(scripts), str(done)],
            cwd=folder,
            env=dict(environment),
            stdin=typed,
            stdout=self._out,
            stderr=self._errors,
            pass_fds=(scripts, done),
        )
        os.close(scripts)
        os.close(done)

    def run(self, script: Path, name: str) -> str:
        """Run a script; returns what it printed."""
        start = self._out.seek(0, os.SEEK_END)
        os.write(self._scripts, f"{script}\n".encode())
        ready, _, _ = select.select([self._done], [], [], _PATIENCE_S)
        succeeded = bool(ready) and os.read(self._done, 1) == b"\n"
        self._out.seek(start)
        printed = self._out.read()
        self._errors.seek(0)
        assert succeeded, f"{name} failed:\n{printed}\n{self._errors.read()[-4000:]}"
        return printed

    def close(self) -> None:
        os.close(self._scripts)
        try:
            self._process.wait(timeout=30)
        finally:
            self._process.kill()
            self._process.wait()
            os.close(self._done)
            self._out.close()
            self._errors.close()
