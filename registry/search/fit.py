"""Whether a tensor signature that is *asked* for fits the one that a model *had*.

Both are compared tensor by tensor in order: as many tensors, the same dtype, the same rank unless
one is unknown, and no pair of dimensions that are two different integers. A side that the question
leaves empty constrains nothing.

:func:`fits` says it of two signatures. The index answers the same question from terms alone:
:func:`clauses` of the question against :func:`terms` of the model.
"""

from collections.abc import Sequence

from registry.search.signature import UNKNOWN_RANK, Signature, Tensor


def fits(asked: Signature, had: Signature) -> bool:
    """Whether a model with signature ``had`` is what ``asked`` looks for."""
    return _side_fits(asked.inputs, had.inputs) and _side_fits(asked.outputs, had.outputs)


def terms(had: Signature) -> set[str]:
    """What the index stores of a model.

    ``float32[N,3]`` is ``in=1 in0=float32 in0=float32/2 in0.0=* in0.1=3 out=0``, and
    ``float32[...]`` is ``in=1 in0=float32 in0=float32/* out=0``.
    """
    found = set()
    for side, tensors in (("in", had.inputs), ("out", had.outputs)):
        found.add(f"{side}={len(tensors)}")
        for position, tensor in enumerate(tensors):
            name = f"{side}{position}"
            found |= {f"{name}={tensor.dtype}", f"{name}={tensor.dtype}/{_rank(tensor)}"}
            for axis, dim in enumerate(tensor.dims):
                found.add(f"{name}.{axis}={dim if isinstance(dim, int) else '*'}")
    return found


def clauses(asked: Signature) -> list[tuple[str, ...]]:
    """What the index is asked: a model matches if it has, of each clause, at least one term."""
    found: list[tuple[str, ...]] = []
    for side, tensors in (("in", asked.inputs), ("out", asked.outputs)):
        if tensors:
            found.append((f"{side}={len(tensors)}",))
        for position, tensor in enumerate(tensors):
            name = f"{side}{position}"
            if tensor.dims == UNKNOWN_RANK:
                found.append((f"{name}={tensor.dtype}",))
                continue
            unknown = f"{name}={tensor.dtype}/*"
            found.append((f"{name}={tensor.dtype}/{_rank(tensor)}", unknown))
            found.extend(
                (f"{name}.{axis}={dim}", f"{name}.{axis}=*", unknown)
                for axis, dim in enumerate(tensor.dims)
                if isinstance(dim, int)
            )
    return found


def _side_fits(asked: Sequence[Tensor], had: Sequence[Tensor]) -> bool:
    if not asked:
        return True
    return len(asked) == len(had) and all(map(_tensor_fits, asked, had))


def _tensor_fits(asked: Tensor, had: Tensor) -> bool:
    if asked.dtype != had.dtype:
        return False
    if UNKNOWN_RANK in (asked.dims, had.dims):
        return True
    return len(asked.dims) == len(had.dims) and not any(
        isinstance(wanted, int) and isinstance(given, int) and wanted != given
        for wanted, given in zip(asked.dims, had.dims, strict=True)
    )


def _rank(tensor: Tensor) -> int | str:
    return "*" if tensor.dims == UNKNOWN_RANK else len(tensor.dims)
