"""Element types: their widths, and those in which devices compute."""

from typing import Final

_BITS: Final = {
    "float64": 64, "int64": 64, "uint64": 64, "complex64": 64, "complex128": 128,
    "float32": 32, "tfloat32": 32, "int32": 32, "uint32": 32,
    "float16": 16, "bfloat16": 16, "int16": 16, "uint16": 16,
    "float8": 8, "float8_e4m3fn": 8, "float8_e4m3fnuz": 8, "float8_e5m2": 8, "float8_e5m2fnuz": 8,
    "int8": 8, "uint8": 8, "bool": 8, "int4": 4, "uint4": 4, "float4_e2m1fn": 4,
}  # fmt: skip
#: Types in which kernels compute; others index and count.
PRECISIONS: Final = frozenset(
    {"float64", "float32", "tfloat32", "float16", "bfloat16", "float8", "int8", "uint8", "int4"}
)


def bits_of(dtype: str) -> int:
    """Bits of a number in memory; 0 for types that are not known."""
    return _BITS.get(dtype, 0)


def bytes_of(dtype: str) -> int:
    """Bytes of a number in memory; 0 for types that are not known, or narrower than a byte."""
    return bits_of(dtype) // 8
