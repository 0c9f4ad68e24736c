"""Converts folders of ``transformers`` (config.json and safetensors) to ONNX, in a child process.

PyTorch and transformers are imported by :mod:`~workers.conversion.convert` and what it imports, so
that a worker without them can say what it lacks.
"""
