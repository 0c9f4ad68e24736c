"""What the code of a kernel says about its speed: loops, instructions, reasons.

Pure functions over texts and numbers; they know no tables. See docs/howto/performance.md.
"""
