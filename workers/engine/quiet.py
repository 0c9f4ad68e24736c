"""Waits until this process does nothing.

A runtime's threads look for more work for a while after a run, and whoever runs next shares cores
with them: those of ONNX Runtime 1.31 for 40 ms, those of TVM 0.27, left to itself, for 150 to
190 ms. On two cores ONNX Runtime took three times as long beside the latter (measured).
"""

import time

_LOOK_S, _IDLE_SHARE = 0.01, 0.2
#: Threads may be told to look for work for ever.
_MOST_S = 1.0


def wait_until_quiet() -> None:
    """Return once no thread of this process computes, or after a second."""
    end = time.monotonic() + _MOST_S
    while time.monotonic() < end:
        before = time.process_time()
        time.sleep(_LOOK_S)
        if time.process_time() - before < _IDLE_SHARE * _LOOK_S:
            return
