"""Run a model, given only the address of its record.

::

    pip install onnxruntime onnx
    python stranger.py https://hub.example.org/lab/galaxy-cnn

No account and no client are needed: the record is read as JSON-LD, its files and test tensors are
downloaded and verified by size and SHA-256, ONNX Runtime runs the network with default options, and
its outputs are compared with the expected ones. Exit status: 0 if they agree, 1 if they do not, 2
if the record is incomplete.
"""

import hashlib
import json
import re
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import onnxruntime
from onnx import TensorProto, numpy_helper

#: Twenty roundings of float16, far above the effect of other orders of sums.
MAX_RELATIVE, RELATIVE_L2 = 2e-2, 1e-2
TENSOR = re.compile(r"(test_data_set_\d+)/(input|output)_(\d+)\.pb")


class Incomplete(Exception):
    """The record lacks something, or what it names is not what it says."""


def main(address: str) -> int:
    """Run what ``address`` is the record of; returns the exit status."""
    record = json.loads(fetch(address, accept="application/ld+json"))
    print(f"{record['name']}, {record['version']}")
    print(f"  identifier  {record['@id']}")
    print(f"  license     {', '.join(map(name_of, many(record, 'license'))) or 'none'}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        files = many(record, "distribution")
        for file in files:
            download(file, folder / "model")
        print(f"  files       {len(files)}, as the record says")
        cases = tests(record, folder / "tests")
        session = onnxruntime.InferenceSession(
            folder / "model" / only(record, "hub:entryPoint"), providers=["CPUExecutionProvider"]
        )
        worst, l2 = compare(session, cases)
    print(f"  tests       {len(cases)}: max relative {worst:.2g}, relative L2 {l2:.2g}")
    agrees = worst <= MAX_RELATIVE and l2 <= RELATIVE_L2
    print("Reproduced." if agrees else "Not reproduced.")
    return 0 if agrees else 1


def tests(record: Any, folder: Path) -> list[dict[str, dict[str, Any]]]:
    """Inputs and outputs of each test set, by the names the record gives them."""
    names = {
        "input": [spec["name"] for spec in many(record, "hub:hasInput")],
        "output": [spec["name"] for spec in many(record, "hub:hasOutput")],
    }
    sets: dict[str, dict[str, dict[str, Any]]] = defaultdict(lambda: {"input": {}, "output": {}})
    for file in many(record, "hub:testTensors"):
        place = TENSOR.fullmatch(file["name"])
        if place is None:
            raise Incomplete(f"{file['name']} is no name of a test tensor")
        tensor = TensorProto.FromString(download(file, folder).read_bytes())
        name = tensor.name if tensor.name in names[place[2]] else names[place[2]][int(place[3])]
        sets[place[1]][place[2]][name] = numpy_helper.to_array(tensor)
    if not sets:
        raise Incomplete("it has no test tensors")
    return list(sets.values())


def compare(session: Any, cases: list[dict[str, dict[str, Any]]]) -> tuple[float, float]:
    """Largest difference over largest value, and relative norm of the differences; worst output."""
    worst, l2 = 0.0, 0.0
    for case in cases:
        names = list(case["output"])
        outputs = session.run(names, case["input"])
        for name, output in zip(names, outputs, strict=True):
            expected = case["output"][name].astype(np.float64)
            gap = np.abs(output.astype(np.float64) - expected)
            worst = max(worst, float(gap.max() / max(np.abs(expected).max(), 1e-6)))
            l2 = max(l2, float(np.linalg.norm(gap) / max(np.linalg.norm(expected), 1e-6)))
    return worst, l2


def download(file: Any, folder: Path) -> Path:
    """Fetch a file and hold it against what the record says of it."""
    path = folder / file["name"]
    if not path.resolve().is_relative_to(folder.resolve()):
        raise Incomplete(f"{file['name']} leads out of its folder")
    data = fetch(only(file, "contentUrl"), accept=file["encodingFormat"])
    if len(data) != int(file["contentSize"]):
        raise Incomplete(f"{file['name']} has {len(data)} bytes, not {file['contentSize']}")
    if hashlib.sha256(data).hexdigest() != file["sha256"]:
        raise Incomplete(f"{file['name']} has another SHA-256 than the record says")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def fetch(address: str, *, accept: str) -> bytes:
    """The bytes at an address."""
    with urlopen(Request(address, headers={"Accept": accept}), timeout=60) as answer:
        data: bytes = answer.read()
    return data


def many(node: Any, term: str) -> list[Any]:
    """What a node says by ``term``: JSON-LD writes one value with or without brackets."""
    values = node.get(term, [])
    return values if isinstance(values, list) else [values]


def only(node: Any, term: str) -> str:
    """The one value of ``term``, or its address. Raises Incomplete without one."""
    for value in many(node, term):
        return name_of(value)
    raise Incomplete(f"{node.get('name')} says no {term}")


def name_of(value: Any) -> str:
    """A text, or the address of a node."""
    return str(value["@id"] if isinstance(value, dict) else value)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1]))
    except (Incomplete, KeyError, OSError, ValueError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(2)
