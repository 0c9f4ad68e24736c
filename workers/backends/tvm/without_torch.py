"""Imports TVM without PyTorch. Import this module before any other that imports TVM.

TVM's FFI imports PyTorch if it is installed, to accept its tensors. They are not used here, and the
import takes two thirds of the CPU time of starting a child and 200 MiB, which would count as memory
of the candidate.
"""

import sys
from typing import Any, cast

if "torch" not in sys.modules:
    # None makes an import fail (see the reference of sys.modules).
    sys.modules["torch"] = cast("Any", None)
    try:
        import tvm  # noqa: F401
    finally:
        del sys.modules["torch"]
