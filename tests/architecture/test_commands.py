"""Commands of the client keep what scripts rely on: JSON, described options, exit statuses."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import typer
import typer.main

from hpcfair import cli, errors
from hpcfair.commands import manpages
from hpcfair.commands.examples import EXAMPLES
from hpcfair.commands.exitstatus import EXIT_STATUSES, ExitStatus, exit_status
from hpcfair.commands.output import JSON_OPTION
from workers.agent import cli as agent
from workers.agent.exitstatus import EXIT_STATUSES as AGENT_STATUSES


def commands(group: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Commands with their names, those of groups included."""
    for word, command in group.commands.items():
        path = f"{name} {word}".strip()
        below = getattr(command, "commands", None)
        if below is None or command.invoke_without_command:
            yield path, command
        if below is not None:
            yield from commands(command, path)


COMMANDS = dict(commands(typer.main.get_command(cli.app)))
AGENT_COMMANDS = dict(commands(typer.main.get_command(agent.app)))


@pytest.mark.parametrize(
    ("name", "command"),
    [*((f"hpcfair {name}", each) for name, each in COMMANDS.items()),
     *((f"hpcfair-agent {name}", each) for name, each in AGENT_COMMANDS.items())],
)  # fmt: skip
def test_every_command_prints_json_and_describes_itself(name: str, command: Any) -> None:
    options = {option for each in command.params for option in each.opts}
    assert JSON_OPTION in options, (
        f"Programs cannot read the result of `{name}`. Give its function the parameter "
        "`as_json: Json = False`, and print its result by emit_json() of hpcfair.commands.output: "
        "the same names as in the API, one document, messages by say()."
    )
    summary = command.help.partition("\n\n")[0]
    assert summary.endswith(".")
    assert len(summary) <= 100, f"The list of commands shows `{summary}`; keep it to one line."
    silent = [each.name for each in command.params if not getattr(each, "help", None)]
    assert not silent, f"`{name} --help` says nothing about {silent}: give them help="


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_valid(name: str) -> None:
    for example in EXAMPLES[name]:
        words = shlex.split(re.split(r" [|<] |  # ", example)[0])
        words = words[words.index("hpcfair") + 1 :]
        command = COMMANDS[name if name in example else words[0]]
        context = command.make_context(words[0], words[1:])
        assert context.params
        assert len(example) <= 95, "it would be wrapped"


@pytest.mark.parametrize(
    ("app", "name", "statuses", "page", "part"),
    [
        (cli.app, "hpcfair", EXIT_STATUSES, "load", ".SH EXAMPLES"),
        (agent.app, "hpcfair-agent", AGENT_STATUSES, "run", "HPCFAIR_AGENT_CACHE_MIB"),
    ],
    ids=["hpcfair", "hpcfair-agent"],
)
def test_manual_pages_are_valid(
    app: typer.Typer, name: str, statuses: Sequence[ExitStatus], page: str, part: str
) -> None:
    pages = manpages.pages(app, name, "1.0", statuses)

    names = dict(commands(typer.main.get_command(app)))
    assert {f"{name}-{each.replace(' ', '-')}.1" for each in names} <= pages.keys()
    assert all(f"\\fB{each.number}\\fR" in pages[f"{name}.1"] for each in statuses)
    assert part in pages[f"{name}-{page}.1"]
    if groff := shutil.which("groff"):
        text = "".join(pages.values())
        command = [groff, "-man", "-Tutf8", "-ww", "-z"]
        done = subprocess.run(command, input=text, text=True, capture_output=True, check=True)
        assert done.stderr == ""


def test_every_error_has_an_exit_status_of_the_table() -> None:
    def kinds(base: type[Any]) -> Iterator[type[Any]]:
        yield base
        for each in base.__subclasses__():
            yield from kinds(each)

    numbers = [each.number for each in EXIT_STATUSES]
    assert len(set(numbers)) == len(numbers)
    assert {exit_status(kind("x")) for kind in kinds(errors.HpcfairError)} <= set(numbers)
    epilog = typer.main.get_command(cli.app).epilog
    assert all(f"{each.number} {each.meaning}" in str(epilog) for each in EXIT_STATUSES)
