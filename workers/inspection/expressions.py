"""Checks the size expressions that PyTorch stores and evaluates: ``Symbol('s0') + 1``."""

import ast

from workers.inspection.interface import Unusable

_LONGEST = 10_000
#: Functions of ``torch.utils._sympy.functions`` and of SymPy that compute with sizes.
_FUNCTIONS = frozenset(
    (  # noqa: SIM905  a table of names
        "Symbol Integer Float Rational Add Mul Pow Max Min Mod Abs Eq Ne Lt Le Gt Ge Equality "
        "Unequality StrictLessThan LessThan StrictGreaterThan GreaterThan And Or Not Piecewise "
        "ceiling floor FloorDiv ModularIndexing Where PythonMod CleanDiv CeilToInt FloorToInt "
        "CeilDiv LShift RShift PowByNatural FloatPow FloatTrueDiv IntTrueDiv TruncToFloat "
        "TruncToInt RoundToInt RoundDecimal ToFloat Identity IsNonOverlappingAndDenseIndicator"
    ).split()
)
_ARITHMETIC = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.operator, ast.unaryop,
    ast.boolop, ast.cmpop, ast.expr_context, ast.Constant, ast.Tuple, ast.keyword,
)  # fmt: skip


def check_expression(text: str) -> None:
    """Reject a size expression that is not plain arithmetic. Raises Unusable, with the
    expression."""
    for node in _nodes(text):
        if isinstance(node, ast.Call):
            allowed = isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS
        elif isinstance(node, ast.Name):
            allowed = node.id in _FUNCTIONS or node.id.isalnum()
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # SymPy turns it into a symbol whose name appears in generated code.
            allowed = node.value.isidentifier()
        else:
            allowed = isinstance(node, _ARITHMETIC)
        if not allowed:
            raise Unusable(f"a size is the expression {text[:100]!r}, which is not arithmetic")


def check_guard(text: str) -> None:
    """Reject a guard that is not a comparison of sizes such as ``L['x'].size()[0] >= 2``. Raises
    Unusable, with the guard."""
    for node in _nodes(text):
        if isinstance(node, ast.Call):
            allowed = isinstance(node.func, ast.Attribute) and not node.args and not node.keywords
        elif isinstance(node, ast.Attribute):
            allowed = node.attr in {"size", "stride", "storage_offset"}
        elif isinstance(node, ast.Name):
            allowed = node.id == "L"
        else:
            allowed = isinstance(node, (*_ARITHMETIC, ast.Subscript))
        if not allowed:
            raise Unusable(f"it has the guard {text[:100]!r}, which is not a comparison of sizes")


def _nodes(text: str) -> list[ast.AST]:
    if len(text) > _LONGEST:
        raise Unusable(f"an expression is longer than {_LONGEST:,} characters")
    try:
        return list(ast.walk(ast.parse(text, mode="eval")))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Unusable(f"{text[:100]!r} is not an expression") from error
