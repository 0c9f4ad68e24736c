"""The code of a kernel as text: its loop nest, machine code and loops, from blobs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from registry.errors import NotFound
from registry.selectors.storage.blob import blob_open
from registry.tables import Kernel, KernelCode

#: Kinds for people, in the order of a menu; ``loops`` is data for the page.
KINDS = {
    "tir": "Loop nest (TIR)",
    "asm": "Assembly",
    "llvm": "LLVM IR",
    "cuda": "CUDA",
    "ptx": "PTX",
    "c++": "C++",
}
_LOOPS = "loops"
#: Longest code that is read for a page.
MOST_BYTES = 2_000_000


@dataclass(frozen=True, slots=True)
class KernelText:
    """A text of a kernel; ``is_cut`` if it is longer than :data:`MOST_BYTES`."""

    kind: str
    text: str
    is_cut: bool


def kinds_of(kernel: Kernel | None) -> list[str]:
    """Kinds of code that a kernel has, in the order of :data:`KINDS`."""
    if kernel is None:
        return []
    kinds = {code.kind for code in kernel.code.all()}
    return [kind for kind in KINDS if kind in kinds]


def kernel_text(kernel: Kernel, kind: str) -> KernelText:
    """Code of a kernel. Raises ``NotFound``: ``kernel_code_not_found``, also for lost bytes."""
    row = kernel.code.filter(kind=kind).select_related("blob").first()
    if row is None:
        raise NotFound("kernel_code_not_found", f"The profile has no code of kind {kind[:8]!r}.")
    return _read(row)


def loop_decisions(kernel: Kernel) -> list[dict[str, Any]]:
    """Which decisions made each loop, in the order of the text; empty if that is not stored.

    See :func:`workers.backends.tvm.loops.decisions_of` for the entries.
    """
    try:
        loops = json.loads(kernel_text(kernel, _LOOPS).text)
    except (NotFound, ValueError):
        return []
    return loops if isinstance(loops, list) and all(map(_is_entry, loops)) else []


def _is_entry(loop: Any) -> bool:
    if not isinstance(loop, Mapping) or not isinstance(loop.get("decisions"), Sequence):
        return False
    return all(isinstance(one, Mapping) and "instruction" in one for one in loop["decisions"])


def _read(row: KernelCode) -> KernelText:
    try:
        with blob_open(row.blob) as stream:
            content = stream.read(MOST_BYTES + 1)
    except NotFound as error:
        detail = f"The code of kind {row.kind} is no longer stored."
        raise NotFound("kernel_code_not_found", detail) from error
    text = content[:MOST_BYTES].decode("utf-8", errors="replace")
    return KernelText(row.kind, text, len(content) > MOST_BYTES)
