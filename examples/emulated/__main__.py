"""``python -m examples.emulated``: prepares emulated machines and runs commands on them."""

import argparse
import os
import sys
from pathlib import Path

from examples.emulated.debian import NotAvailable
from examples.emulated.enter import command
from examples.emulated.machines import MACHINES
from examples.emulated.userland import prepare


def main() -> None:
    """Run one of the subcommands. Exits with 3 if the packages are not available."""
    options = _options()
    try:
        root = prepare(options.machine)
        if options.action == "prepare":
            sys.stdout.write(f"{root}\n")
            return
        folders = [Path.cwd(), *options.folder]
        run = command(options.machine, options.command or ["/bin/sh"], folders)
    except NotAvailable as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(3)
    os.execvp(run[0], run)  # noqa: S606  becomes the command, without a shell


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="examples.emulated", description=__doc__)
    parser.add_argument("--machine", choices=sorted(MACHINES), default="arm64")
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("prepare", help="fetch and unpack its packages; prints the folder")
    run = actions.add_parser("run", help="run a command in the current folder")
    run.add_argument(
        "--folder",
        type=Path,
        action="append",
        default=[],
        help="mount it too; repeatable",
    )
    run.add_argument("command", nargs="*")
    return parser.parse_args()


if __name__ == "__main__":
    main()
