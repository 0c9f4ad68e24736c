"""Converts old versions of operators, and weights that are inputs as well."""

import onnx
from onnx import version_converter

from workers.engine.errors import InvalidCandidate

#: ONNX Script's optimiser writes the ``Reshape`` of this opset; weights per channel came before.
_OPSET = 14
#: ONNX Runtime may not support the newest version, which the converter writes.
_IR_VERSION = 8


def raise_opset(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same network at opset 14 or later, with weights as constants. Raises InvalidCandidate if
    ONNX has no conversion of an operator."""
    version = next((o.version for o in model.opset_import if o.domain in {"", "ai.onnx"}), _OPSET)
    if version < _OPSET:
        try:
            model = version_converter.convert_version(model, _OPSET)
        except RuntimeError as error:
            reason = str(error).rpartition("Assertion")[2].strip() or str(error)
            raise InvalidCandidate(
                f"opset {version} cannot be converted to {_OPSET}: {reason}"
            ) from error
    # Before IR version 4, weights are also inputs, which a caller could override.
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in weights]
    if version >= _OPSET and len(inputs) == len(model.graph.input):
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.input[:]
    copy.graph.input.extend(inputs)
    copy.ir_version = _IR_VERSION if version < _OPSET else max(model.ir_version, _IR_VERSION)
    return copy
