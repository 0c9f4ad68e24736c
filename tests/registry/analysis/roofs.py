"""Roofs as devices report them, for tests."""

from typing import Any

from registry import schemas

TOOLS = {"onnxruntime": {"onnxruntime": "1.31", "python": "3.11"}}


def rounds(ms: float, *, count: int = 3, is_disturbed: bool = False) -> list[dict[str, Any]]:
    """Rounds of equal samples."""
    samples_ns = [max(1, round(ms * 1e6))] * 4
    return [{"samples_ns": samples_ns, "is_disturbed": is_disturbed} for _ in range(count)]


def compute(*, ms: float = 10.0, **changes: Any) -> dict[str, Any]:
    """A roof of arithmetic."""
    document = {
        "precision": "float32",
        "backend": "onnxruntime",
        "method": "products of matrices",
        "threads": 2,
        "size": 512,
        "layers": 4,
        "rounds": rounds(ms),
    }
    return document | changes


def memory(*, ms: float = 20.0, **changes: Any) -> dict[str, Any]:
    """A roof of main memory."""
    document = {
        "level": "memory",
        "method": "triad",
        "threads": 2,
        "bytes": 64 * 2**20,
        "arrays": 3,
        "repeats": 1,
        "rounds": rounds(ms),
    }
    return document | changes


def columns(
    roofs: list[dict[str, Any]],
    *,
    tools: dict[str, Any] | None = None,
    notes: list[str] | None = None,
) -> dict[str, Any]:
    """Columns of ``roofs_store``."""
    tools = TOOLS if tools is None else tools
    return {
        "tools": tools,
        "tools_sha256": schemas.sha256_of(tools),
        "took_s": 2.5,
        "roofs": roofs,
        "notes": notes or [],
    }
