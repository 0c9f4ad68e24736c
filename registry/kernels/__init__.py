"""Explains the speed of a kernel from its code: loops, instructions, reasons.

Pure functions over texts and numbers that read no tables. See docs/howto/performance.md.
"""
