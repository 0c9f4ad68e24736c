"""ONNX Runtime: the baseline every build is compared with, and its own knobs."""
