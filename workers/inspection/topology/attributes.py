"""Attributes of nodes as short texts. Values are untrusted, and may have any length."""

from collections.abc import Callable, Iterable, Sized

from onnx import AttributeProto, TensorProto

from workers.inspection.dtypes import name_of
from workers.inspection.errors import printable

#: Upper bound on the characters of a value, the entries shown of a list, and attributes of a node.
MAX_TEXT, MAX_ENTRIES, MAX_ATTRIBUTES = 200, 24, 64

#: Name, kind and value of an attribute.
Attribute = tuple[str, str, str]
_KINDS = {
    AttributeProto.FLOAT: "float",
    AttributeProto.INT: "int",
    AttributeProto.STRING: "string",
    AttributeProto.TENSOR: "tensor",
    AttributeProto.GRAPH: "graph",
    AttributeProto.SPARSE_TENSOR: "sparse tensor",
    AttributeProto.TYPE_PROTO: "type",
    AttributeProto.FLOATS: "floats",
    AttributeProto.INTS: "ints",
    AttributeProto.STRINGS: "strings",
    AttributeProto.TENSORS: "tensors",
    AttributeProto.GRAPHS: "graphs",
}


def attributes_of(attributes: Iterable[AttributeProto]) -> list[Attribute]:
    """The first attributes of a node, in the order of the file."""
    shown: list[Attribute] = []
    for attribute in attributes:
        if len(shown) == MAX_ATTRIBUTES:
            break
        kind = _KINDS.get(attribute.type, "unknown")
        shown.append((printable(attribute.name, MAX_TEXT), kind, _value(attribute)))
    return shown


def _value(attribute: AttributeProto) -> str:
    if attribute.ref_attr_name:
        return printable(f"= {attribute.ref_attr_name} of the function", MAX_TEXT)
    shown = _SHOWN.get(attribute.type)
    return shown(attribute) if shown else ""


def listed(texts: list[str], values: Sized) -> str:
    """A list in brackets, with its whole length if only the first of its values are shown."""
    count = len(values)
    more = f", … {count:,} in all" if count > len(texts) else ""
    return printable(f"[{', '.join(texts)}{more}]", MAX_TEXT)


def text_of(value: bytes) -> str:
    """A string of the file, which need not be text."""
    return printable(value[: 4 * MAX_TEXT].decode("utf-8", "replace"), MAX_TEXT)


def _tensor(tensor: TensorProto) -> str:
    sizes = ", ".join(str(size) for size in tensor.dims)
    return f"{name_of(tensor.data_type)}[{sizes}]"


_SHOWN: dict[int, Callable[[AttributeProto], str]] = {
    AttributeProto.FLOAT: lambda a: f"{a.f:.7g}",
    AttributeProto.INT: lambda a: str(a.i),
    AttributeProto.STRING: lambda a: text_of(a.s),
    AttributeProto.TENSOR: lambda a: _tensor(a.t),
    AttributeProto.FLOATS: lambda a: listed([f"{v:.7g}" for v in a.floats[:MAX_ENTRIES]], a.floats),
    AttributeProto.INTS: lambda a: listed([str(v) for v in a.ints[:MAX_ENTRIES]], a.ints),
    AttributeProto.STRINGS: lambda a: listed(
        [text_of(v) for v in a.strings[:MAX_ENTRIES]], a.strings
    ),
    AttributeProto.GRAPH: lambda a: f"{len(a.g.node):,} nodes",
    AttributeProto.GRAPHS: lambda a: f"{len(a.graphs):,} graphs",
    AttributeProto.TENSORS: lambda a: f"{len(a.tensors):,} tensors",
}
