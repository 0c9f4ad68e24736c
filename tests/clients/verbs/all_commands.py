"""The whole table of ``hf`` commands; ``python -m tests.clients.verbs.all_commands`` calls them.

As :mod:`tests.clients.verbs.__main__`, in the environment of the newest client. Arguments: an empty
folder to work in, and the names of commands where not all are to be called.
"""

import json
import sys
from pathlib import Path

from tests.clients.verbs import commands, commands_absent, commands_repos
from tests.clients.verbs.command_line import COMMANDS, names
from tests.clients.verbs.context import Context
from tests.clients.verbs.table import Verb

#: Areas that the documentation has first.
FIRST = (
    *(commands.AUTH, commands_repos.REPOS, commands.FILES, commands.LISTS),
    *(commands_repos.DISCUSSIONS, commands_repos.WEBHOOKS, commands.CACHE),
)


def missing_commands() -> set[str]:
    """Commands of this client that the table lacks."""
    return names() - commands_absent.LOCAL - set(COMMANDS)


def documented_commands() -> list[Verb]:
    """Commands in the order of the documentation."""
    areas = list(dict.fromkeys([*FIRST, *(verb.area for verb in COMMANDS.values())]))
    return sorted(COMMANDS.values(), key=lambda verb: areas.index(verb.area))


def main() -> None:
    """Call the commands that the arguments name and print what failed, as a JSON object."""
    context = Context(Path(sys.argv[1]))
    failures = {name: _failure(context, name) for name in sys.argv[2:] or COMMANDS}
    print(json.dumps({f"hf {name}": text for name, text in failures.items() if text}))


def _failure(of: Context, name: str) -> str:
    try:
        COMMANDS[name].call(of)
    except Exception as failure:  # noqa: BLE001 (reported)
        return f"{type(failure).__name__}: {failure}"
    return ""


if __name__ == "__main__":
    main()
