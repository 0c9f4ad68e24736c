"""Whether the signature of a model fits a requested signature.

Both are compared tensor by tensor in order: equal numbers of tensors, equal dtypes, equal ranks
unless one is unknown, and no pair of dimensions that are different integers. An empty side of the
request constrains nothing.

:func:`fits` compares two signatures. The index computes the same from terms: :func:`clauses` of the
request against :func:`terms` of the model.
"""

from collections.abc import Sequence

from registry.search.signature import UNKNOWN_RANK, Signature, Tensor


def fits(requested: Signature, own: Signature) -> bool:
    """Whether a model of signature ``own`` fits the request."""
    return _side_fits(requested.inputs, own.inputs) and _side_fits(requested.outputs, own.outputs)


def terms(own: Signature) -> set[str]:
    """The terms that the index stores for a model.

    ``float32[N,3]`` is ``in=1 in0=float32 in0=float32/2 in0.0=* in0.1=3 out=0``, and
    ``float32[...]`` is ``in=1 in0=float32 in0=float32/* out=0``.
    """
    stored = set()
    for side, tensors in (("in", own.inputs), ("out", own.outputs)):
        stored.add(f"{side}={len(tensors)}")
        for position, tensor in enumerate(tensors):
            name = f"{side}{position}"
            stored |= {f"{name}={tensor.dtype}", f"{name}={tensor.dtype}/{_rank(tensor)}"}
            for axis, dim in enumerate(tensor.dims):
                stored.add(f"{name}.{axis}={dim if isinstance(dim, int) else '*'}")
    return stored


def clauses(requested: Signature) -> list[tuple[str, ...]]:
    """Clauses of a request: a model matches if it has at least one term of each."""
    required: list[tuple[str, ...]] = []
    for side, tensors in (("in", requested.inputs), ("out", requested.outputs)):
        if tensors:
            required.append((f"{side}={len(tensors)}",))
        for position, tensor in enumerate(tensors):
            name = f"{side}{position}"
            if tensor.dims == UNKNOWN_RANK:
                required.append((f"{name}={tensor.dtype}",))
                continue
            unknown = f"{name}={tensor.dtype}/*"
            required.append((f"{name}={tensor.dtype}/{_rank(tensor)}", unknown))
            required.extend(
                (f"{name}.{axis}={dim}", f"{name}.{axis}=*", unknown)
                for axis, dim in enumerate(tensor.dims)
                if isinstance(dim, int)
            )
    return required


def _side_fits(requested: Sequence[Tensor], own: Sequence[Tensor]) -> bool:
    if not requested:
        return True
    return len(requested) == len(own) and all(map(_tensor_fits, requested, own))


def _tensor_fits(requested: Tensor, own: Tensor) -> bool:
    if requested.dtype != own.dtype:
        return False
    if UNKNOWN_RANK in (requested.dims, own.dims):
        return True
    return len(requested.dims) == len(own.dims) and not any(
        isinstance(dim, int) and isinstance(other, int) and dim != other
        for dim, other in zip(requested.dims, own.dims, strict=True)
    )


def _rank(tensor: Tensor) -> int | str:
    return "*" if tensor.dims == UNKNOWN_RANK else len(tensor.dims)
