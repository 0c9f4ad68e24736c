"""The operators of a model, and whether a backend can run them."""

import re
from collections import Counter

import onnx
from onnx import defs

from workers.inspection.errors import InspectionError, invalid, printable
from workers.inspection.flow import Flow
from workers.inspection.walk import all_nodes

#: The oldest operator set that ONNX Runtime and the hub's compilers support.
OLDEST_OPSET = 7
#: Domains defined by ONNX, with the newest version known here.
STANDARD: dict[str, int] = {
    "": defs.onnx_opset_version(),
    "ai.onnx": defs.onnx_opset_version(),
    "ai.onnx.ml": defs.onnx_ml_opset_version(),
    "ai.onnx.preview": 1,
    "ai.onnx.preview.training": 1,
    "ai.onnx.training": 1,
}
#: Domains of ONNX Runtime's own operators; the runtime reports which of them it supports.
CONTRIBUTED = frozenset(
    {
        "com.microsoft",
        "com.microsoft.experimental",
        "com.microsoft.nchwc",
        "com.ms.internal.nhwc",
        "org.pytorch.aten",
    }
)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_.:\-]{0,127}")


def check_operators(model: onnx.ModelProto, shown: str) -> None:
    """Reject operators that no backend of the hub can run.

    Raises InspectionError: ``operator_unsupported`` (unknown operator, domain or version), or
    ``onnx_invalid`` (an invalid name).
    """
    versions: dict[str, int] = {}
    for importer in (model, *model.functions):
        for opset in importer.opset_import:
            _check_version(opset.domain, opset.version, shown)
            versions.setdefault(opset.domain, opset.version)
    local = {(function.domain, function.name) for function in model.functions}
    kinds = {(node.domain, node.op_type) for node in all_nodes(model)}
    for domain, op_type in sorted(kinds - local):
        _check_operator(domain, op_type, versions, shown)


def histogram(flow: Flow) -> dict[str, int]:
    """Operator to count, most frequent first, including subgraphs and inlined functions."""
    counts = Counter(step.op for step in flow.steps())
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _check_version(domain: str, version: int, shown: str) -> None:
    if version < 1:
        raise invalid(shown, f"it imports version {version} of the operator set {domain!r}.")
    newest = STANDARD.get(domain)
    if newest is not None and version > newest:
        raise InspectionError(
            "operator_unsupported",
            f"{shown} uses version {version} of the operator set {domain or 'ai.onnx'!r}; "
            f"the newest known here is {newest}.",
            "Export it for an older operator set.",
        )
    if domain in {"", "ai.onnx"} and version < OLDEST_OPSET:
        raise InspectionError(
            "operator_unsupported",
            f"{shown} uses operator set {version}; {OLDEST_OPSET} is the oldest read here.",
            "Convert it with onnx.version_converter.convert_version.",
        )


def _check_operator(domain: str, op_type: str, versions: dict[str, int], shown: str) -> None:
    if not _IDENTIFIER.fullmatch(op_type) or (domain and not _IDENTIFIER.fullmatch(domain)):
        raise invalid(shown, f"{op_type!r} of {domain!r} is no operator's name.")
    if domain in CONTRIBUTED:
        return
    standard = "" if domain == "ai.onnx" else domain
    version = versions.get(domain, versions.get(standard))
    if standard in STANDARD:
        if version is None:
            raise invalid(shown, f"it uses {op_type} but imports no operator set {domain!r}.")
        if _is_known(standard, op_type, version):
            return
    name = op_type if not standard else f"{domain}::{op_type}"
    raise InspectionError(
        "operator_unsupported",
        f"{shown} uses the operator {printable(name)!r}"
        + (f", which operator set {version} does not have." if standard in STANDARD else "."),
        "Export it with standard operators, or publish its definition as an ONNX function.",
    )


def _is_known(domain: str, op_type: str, version: int) -> bool:
    try:
        return not defs.get_schema(op_type, version, domain).deprecated
    except defs.SchemaError:
        return False
