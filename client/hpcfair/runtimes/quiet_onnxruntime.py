"""Imports ONNX Runtime without telemetry. Always import ``ort`` from here.

Its packages for Linux write an identifier of the machine and a database of events into the user's
home, and contain the address of its maker to which such events go. Writing begins with the import,
unless the variable is set before.
"""

import os

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime as ort

__all__ = ["ort"]
