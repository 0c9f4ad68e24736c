"""``python -m examples.models NAME OUT``: write an example model as a publishable folder."""

import argparse
from pathlib import Path

from examples.models.catalogue import MAKERS, make


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m examples.models", description=__doc__)
    parser.add_argument("name", nargs="?", choices=sorted(MAKERS), help="which example")
    parser.add_argument("out", nargs="?", type=Path, help="folder to write, made if missing")
    parser.add_argument("--seed", type=int, default=0, help="equal seeds give equal weights")
    parser.add_argument("--list", action="store_true", help="list the examples and end")
    arguments = parser.parse_args()
    if arguments.list:
        for name, maker in MAKERS.items():
            print(f"{name:24} {maker.summary}")
        return
    if arguments.name is None or arguments.out is None:
        parser.error("NAME and OUT are required (or --list)")
    folder = make(arguments.name, arguments.out, arguments.seed)
    for path in sorted(folder.iterdir()):
        print(f"{path.stat().st_size:>12,} {path}")


if __name__ == "__main__":
    main()
