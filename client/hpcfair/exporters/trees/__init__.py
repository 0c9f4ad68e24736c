"""Exports ensembles of decision trees: every library is read into one form, written as ONNX.

The libraries' own converters either change what a model computes, or stop at releases of their
library that are years old. The operator for trees is all that ONNX needs.
"""
