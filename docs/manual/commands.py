"""Reference of the command lines: of the client, and of operators."""

import os
import re
import subprocess
import sys
from pathlib import Path

import django
from django.core.management import load_command_class

from hpcfair.commands.exitstatus import EXIT_STATUSES
from manual.markdown import demoted, table

#: Commands that write pages of the manual or are called by others only.
_INTERNAL = {"settings_reference"}
#: Options of all Django commands, which say nothing about one.
_COMMON = (
    *("--version", "--verbosity", "--settings", "--pythonpath", "--traceback"),
    *("--no-color", "--force-color", "--skip-checks"),
)
_COLUMNS = "88"
#: Examples after the text of a command.
_EXAMPLES = re.compile(r"^Examples:\n((?:  .+\n)*  .+)$", re.MULTILINE)


def cli_page() -> str:
    """The commands of ``hpcfair``, as typer describes them."""
    return _typer_page("hpcfair.cli", "hpcfair")


def exit_status_page() -> str:
    """The exit statuses of ``hpcfair``."""
    rows = ((str(each.number), each.meaning, each.cases) for each in EXIT_STATUSES)
    return table(("status", "meaning", "such as"), rows)


def agent_page() -> str:
    """The commands of ``hpcfair-agent``, as typer describes them."""
    return _typer_page("workers.agent.cli", "hpcfair-agent")


def _typer_page(module: str, name: str) -> str:
    command = [sys.executable, "-m", "typer", module, "utils", "docs", "--name", name]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    out = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return demoted(_EXAMPLES.sub(_console, out.stdout))


def _console(examples: re.Match[str]) -> str:
    lines = [f"$ {line.strip()}" for line in examples[1].splitlines()]
    return "\n".join(["```console", *lines, "```"])


def operator_page() -> str:
    """The commands of ``manage.py`` and ``hpcfair-hub``, from their parsers."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hub.settings.development")
    os.environ["COLUMNS"] = _COLUMNS
    django.setup()
    parts = []
    for name in _names():
        command = load_command_class("hub", name)
        command.suppressed_base_arguments = set(_COMMON)
        parser = command.create_parser("manage.py", name)
        parts += [f"## {name}", "", "```console", f"$ {parser.format_help().rstrip()}", "```", ""]
    return "\n".join(parts).replace("$ usage: ", "$ python ")


def _names() -> list[str]:
    folder = Path(__file__).resolve().parents[2] / "hub" / "management" / "commands"
    names = {path.stem for path in folder.glob("*.py") if not path.stem.startswith("_")}
    return sorted(names - _INTERNAL)
