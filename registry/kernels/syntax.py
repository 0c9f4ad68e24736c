"""Parts of Python syntax trees as plain values."""

import ast


def integer(node: ast.expr | None) -> int | None:
    """The value of ``8`` or ``T.int64(8)``; ``None`` for other expressions."""
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() as value):
            return value
        case ast.Call(func=ast.Attribute(attr=name), args=[inner]) if name.startswith("int"):
            return integer(inner)
    return None


def name_of(node: ast.expr) -> str:
    """The last part of a name: ``grid`` of ``T.grid``; "" for other expressions."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def string_of(node: ast.expr | None) -> str:
    """The value of a string; "" for other expressions."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
