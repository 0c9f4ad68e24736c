"""Machines that join the fleet in tests: their facts, keys and codes."""

from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from registry.services.work.devicecode import device_code_issue
from registry.services.work.enrolment import device_enrol
from registry.tables import Device, User

FACTS: dict[str, Any] = {
    "architecture": "x86-64",
    "features": ["avx", "avx2", "f16c", "fma", "sse4_2"],
    "cores": 8,
    "logical_cpus": 16,
    "memory_bytes": 32 * 2**30,
    "processor": "Example Processor 8000",
    "os": "Example Linux 1",
    "kernel": "6.1",
}
TOOLS = {"onnxruntime": {"onnxruntime": "1.24.1"}}


def new_key() -> str:
    """The public half of a new key pair, in PEM."""
    return (
        Ed25519PrivateKey.generate()
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        .decode()
    )


def enrol(
    name: str = "bench-1",
    *,
    owner: User | None = None,
    target: str | None = None,
    key: str = "",
    **facts: Any,
) -> tuple[Device, str]:
    """An enrolled machine, and its token."""
    code = device_code_issue(actor=None, target=target, owner=owner)
    return device_enrol(code=code, name=name, facts=FACTS | facts, public_key=key or new_key())
