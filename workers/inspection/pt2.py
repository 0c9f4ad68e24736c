"""Reads the signature of a ``.pt2`` file and checks that PyTorch can load it safely.

::

    <name>/archive_format  archive_version  byteorder  .data/...
    <name>/models/model.json                    the graph
    <name>/data/weights/, data/constants/       raw tensors, and JSON that describes them
    <name>/data/sample_inputs/model.pt          a PyTorch file: a zip archive around a pickle
    <name>/extra/...                            text, not read here

``torch.export.load`` trusts its file: it unpickles sample inputs without restriction if restricted
unpickling fails, evaluates size expressions and guards as Python, and generates code that contains
the graph's names. Therefore pickles may contain only globals that rebuild tensors, expressions only
arithmetic on sizes, names no quotes or brackets, and graphs only PyTorch's own operators.
"""

import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workers.engine.types import TensorSpec
from workers.inspection.expressions import check_expression, check_guard
from workers.inspection.interface import Interface, Unusable
from workers.inspection.pickles import check_tensor_file, members_of

MAX_GRAPH_BYTES = 2**28
#: Codes of ``torch._export.serde.schema.ScalarType`` that NumPy supports.
_DTYPES = {
    1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32",
    8: "float64", 12: "bool", 28: "uint16", 34: "uint32", 35: "uint64",
}  # fmt: skip
_PLAIN = re.compile(
    r"archive_format|archive_version|byteorder|\.data/[^/]+|models/[^/]+\.json"
    r"|data/weights/[^/]+|data/constants/[^/]+|data/sample_inputs/[^/]+\.pt|extra/.+"
)
_TEXT = re.compile(r"[\w.,>: -]*", re.ASCII)
_OPERATOR = re.compile(
    r"torch\.ops\.(aten|prims)\.\w+\.\w+|_operator\.\w+|math\.\w+|torch\.sym_\w+", re.ASCII
)
#: Free text for readers; the backend removes it before compiling.
_UNREAD = frozenset({"metadata", "torch_version"})
_TREES = frozenset({"builtins.tuple", "builtins.list", "builtins.dict", None})


def read_pt2(path: Path) -> Interface:
    """Inputs and outputs of an exported PyTorch program.

    Raises Unusable if it is another kind of file, damaged, could run code when it is loaded, or has
    inputs or outputs other than tensors on the CPU.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = members_of(archive, path)
            _check_members(archive, names)
            return _read(_document(archive, names["models/model.json"]))
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise Unusable(f"it is no readable .pt2 archive: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise Unusable(f"its graph is not as PyTorch writes it: {error!r}") from error


def _check_members(archive: zipfile.ZipFile, names: dict[str, zipfile.ZipInfo]) -> None:
    for name, member in names.items():
        if name.startswith("data/aotinductor/"):
            raise Unusable("it holds compiled code; publish the exported program")
        if not _PLAIN.fullmatch(name):
            raise Unusable(f"it holds {name!r}, which no exported program has")
        if name.startswith("data/sample_inputs/"):
            with archive.open(member) as stream:
                check_tensor_file(stream.read())
        elif name.startswith(("data/weights/", "data/constants/")) and name.endswith(".json"):
            for entry in _document(archive, member)["config"].values():
                if entry["use_pickle"] or not re.fullmatch(r"\w+", entry["path_name"], re.ASCII):
                    raise Unusable("it stores weights or constants as pickles")
    models = [name for name in names if name.startswith("models/")]
    if models != ["models/model.json"]:
        raise Unusable(f"it holds {len(models)} programs, not one called 'model'")


def _document(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Any:
    if member.file_size > MAX_GRAPH_BYTES:
        raise Unusable(f"{member.filename} is larger than {MAX_GRAPH_BYTES >> 20} MiB")
    return json.loads(archive.read(member))


def _read(document: dict[str, Any]) -> Interface:
    for guard in document.get("guards_code", ()):
        check_guard(guard)
    _check({name: value for name, value in document.items() if name != "guards_code"})
    module = document["graph_module"]
    values = module["graph"]["tensor_values"]
    signature = module["signature"]
    inputs = [spec["user_input"] for spec in signature["input_specs"] if "user_input" in spec]
    effects = [kind for s in signature["output_specs"] for kind in s if kind != "user_output"]
    if effects:
        raise Unusable(f"running it has side effects: {', '.join(sorted(set(effects)))}")
    outputs = [spec["user_output"] for spec in signature["output_specs"]]
    return Interface(tuple(_specs(inputs, values)), tuple(_specs(outputs, values)))


def _check(document: Any) -> None:
    """Reject strings that PyTorch would evaluate, call or write into code."""
    todo: list[tuple[str, Any]] = [("", document)]
    while todo:
        key, value = todo.pop()
        if isinstance(value, dict):
            todo += [("name", name) for name in value]
            todo += [item for item in value.items() if item[0] not in _UNREAD]
        elif isinstance(value, list):
            todo += [(key, item) for item in value]
        elif isinstance(value, str):
            _check_text(key, value)


def _check_text(key: str, value: str) -> None:
    if key == "expr_str":
        check_expression(value)
    elif key == "target":
        if not _OPERATOR.fullmatch(value):
            raise Unusable(f"it uses the operator {value!r}, which is not one of PyTorch's own")
    elif key in {"in_spec", "out_spec"}:
        for kind in _kinds(json.loads(value)):
            if kind not in _TREES:
                raise Unusable(f"it takes or gives a {kind}, not tensors")
    elif not _TEXT.fullmatch(value):
        raise Unusable(f"it has a name or text that cannot be trusted: {value!r}")


def _kinds(tree: Any) -> Iterator[str | None]:
    """Container types of a serialised argument tree: ``[version, {"type", "children_spec"}]``."""
    todo = [tree[1]] if tree else []
    while todo:
        node = todo.pop()
        yield node["type"]
        todo += node["children_spec"]


def _specs(arguments: list[Any], values: dict[str, Any]) -> Iterator[TensorSpec]:
    for holder in arguments:
        argument = holder["arg"]
        if "as_tensor" not in argument:
            raise Unusable("it takes or gives something else than tensors")
        name = argument["as_tensor"]["name"]
        tensor = values[name]
        if tensor["device"]["type"] != "cpu":
            raise Unusable(f"it was exported on {tensor['device']['type']}; move it to the CPU")
        if tensor["dtype"] not in _DTYPES:
            raise Unusable(f"{name} has an element type that NumPy does not have")
        sizes = tuple(size.get("as_int", "?") for size in tensor["sizes"])
        yield TensorSpec(name, _DTYPES[tensor["dtype"]], sizes)
