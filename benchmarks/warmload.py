"""Loads of a cached model, in turns with the runtime's session on the same file.

``python -m benchmarks.warmload NAME COUNT`` prints both series of seconds as JSON. The runtime is
imported before; the first load imports the modules of ``hpcfair``.
"""

import json
import sys
import time

import onnxruntime

import hpcfair


def main(name: str, count: str) -> dict[str, list[float]]:
    """Time both in turns."""
    times: dict[str, list[float]] = {"load": [], "session": []}
    for _ in range(int(count)):
        began = time.perf_counter()
        model = hpcfair.load(name, target=None)
        loaded = time.perf_counter()
        session = onnxruntime.InferenceSession(model.path, providers=["CPUExecutionProvider"])
        opened = time.perf_counter()
        times["load"].append(loaded - began)
        times["session"].append(opened - loaded)
        del session
        model.close()
    return times


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(*sys.argv[1:])))
