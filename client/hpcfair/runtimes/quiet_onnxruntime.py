"""Imports ONNX Runtime without telemetry. Always import ``ort`` from here.

Its packages for Linux and macOS send facts about the machine, the models and their runs to their
maker, and keep an identifier of the machine and a database in the user's home. Both begin when it
is imported, unless the variable is set before.
"""

import os

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime as ort

__all__ = ["ort"]
