"""Import this before anything that imports TVM: the process then stays without PyTorch.

TVM's FFI imports PyTorch wherever it is installed, in case somebody hands it a tensor of PyTorch's.
Nobody does here, and each child would pay for it: two thirds of the processor time that a child
takes to start, and 200 MiB that would count as what the candidate holds.
"""

import sys
from typing import Any, cast

if "torch" not in sys.modules:
    # None makes an import fail (the reference of sys.modules says so).
    sys.modules["torch"] = cast("Any", None)
    try:
        import tvm  # noqa: F401
    finally:
        del sys.modules["torch"]
