"""Makers of real models that need no network: ``python -m examples.models --list``.

Each maker writes a folder as a publisher would have it: ``model.onnx``, ``README.md`` (the model
card) and ``samples.npz`` (test tensors ``inputs/<tensor>``, ``outputs/<tensor>`` and, where the
truth is known, ``labels``). Equal seeds give equal weights.
"""
