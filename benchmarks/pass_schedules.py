"""Operator schedules for the networks of the benchmark ``passes``, which then compares tuned code.

``python -m benchmarks.pass_schedules FOLDER [--seconds 200] [--networks resnet18,bert_2]``. Each
network is searched for this many seconds, as by the hub in the background;
``make bench NAME=passes ARGS="--schedules FOLDER"`` reads ``FOLDER/NAME.jsonl``. Networks that have
a file are skipped, so an interrupted run continues with the next one.
"""

import argparse
from pathlib import Path

from benchmarks.pass_subjects import SUBJECTS, subjects_of
from benchmarks.scheduling import stored_schedules
from workers.fleet.probe import this_machine


def main() -> None:
    """Search schedules for the networks without a file."""
    options = _options()
    here = this_machine().spec
    options.folder.mkdir(parents=True, exist_ok=True)
    for subject in options.networks:
        path = options.folder / f"{subject.name}.jsonl"
        network = subject.make(options.cache)
        stored_schedules(subject.name, network, here, options.seconds, path)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.pass_schedules", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--networks", type=subjects_of, default=SUBJECTS, help="by default all")
    parser.add_argument("--seconds", type=float, default=200.0, help="of each network")
    parser.add_argument("--cache", type=Path, default=Path(".bench"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
