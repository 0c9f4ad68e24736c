"""Makers of real models that need no network: ``python -m examples.models --list``.

Each maker writes a publishable folder: ``model.onnx``, ``README.md`` (the model card) and
``samples.npz`` (test tensors ``inputs/<tensor>``, ``outputs/<tensor>`` and, if known, ``labels``).
Equal seeds give equal weights.
"""
