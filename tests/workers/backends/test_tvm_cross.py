"""Libraries of TVM for other architectures: code generation, linking, and what is missing."""

import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hpcfair import machine
from tests.programs import needs
from workers.backends.tvm import cross
from workers.backends.tvm.backend import TvmBackend
from workers.backends.tvm.targets import target_of
from workers.engine.errors import BackendUnavailable
from workers.engine.types import TargetSpec
from workers.testing import networks

ARM = TargetSpec("arm64-neoverse-n1", "arm64", frozenset({"asimd", "asimddp"}), 2, None)
RISCV = TargetSpec("riscv64-generic", "riscv64", frozenset(), 2, None)
X86 = TargetSpec("x86-64-avx2", "x86-64", frozenset({"avx2"}), 2, None)
FOREIGN = [target for target in (ARM, RISCV, X86) if target.architecture != machine.architecture()]
_MACHINES = {"x86-64": 62, "arm64": 183, "riscv64": 243}


@needs("tvm")
@needs("lld")
@pytest.mark.slow
@pytest.mark.parametrize("target", FOREIGN, ids=lambda target: target.architecture)
def test_a_network_is_compiled_and_linked_for_another_architecture(
    target: TargetSpec, tmp_path: Path
) -> None:
    network = networks.write(networks.residual_cnn(), tmp_path / "model")
    backend, out = TvmBackend(), tmp_path / "build"
    out.mkdir()
    options = {**backend.default(network, target), "shapes": "fixed"}
    build = backend.build(network, target, options, out)
    assert build.outcome == "measured", build.detail
    head = (out / build.entry_point).read_bytes()[:20]
    assert struct.unpack("<4s14xH", head) == (b"\x7fELF", _MACHINES[target.architecture])
    assert build.provenance["target"]["mtriple"] == cross.TRIPLES[target.architecture]
    assert build.runtime == "tvm"


@pytest.mark.parametrize("target", FOREIGN, ids=lambda target: target.architecture)
def test_only_the_target_of_another_architecture_has_a_triple(target: TargetSpec) -> None:
    assert target_of(target)["mtriple"] == cross.TRIPLES[target.architecture]
    own = TargetSpec("own", machine.architecture(), frozenset(), 2, None)
    assert "mtriple" not in target_of(own)


def test_the_linker_of_the_system_comes_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "ld.lld"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert cross.linker() == [str(program)]


def test_without_a_linker_the_backend_does_not_serve_other_architectures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(cross, "find_spec", lambda _: None)
    with pytest.raises(BackendUnavailable, match="pip install ziglang"):
        TvmBackend().probe(FOREIGN[0])


def _linker(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> None:
    program = folder / "ld.lld"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(cross, "linker", lambda: [str(program)])


def test_the_message_of_a_linker_that_fails_is_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _linker(monkeypatch, tmp_path, "echo undefined symbol >&2; exit 1")
    with pytest.raises(RuntimeError, match="undefined symbol"):
        cross.link(str(tmp_path / "out.so"), [])


@pytest.mark.parametrize("content", [b"", b"text", b"\x7fELF" + bytes(14) + b"\x3e\x00"])
def test_a_library_of_another_architecture_is_refused(tmp_path: Path, content: bytes) -> None:
    def export_library(path: str, **_: Any) -> None:
        Path(path).write_bytes(content)

    executable = SimpleNamespace(export_library=export_library)
    with pytest.raises(RuntimeError, match="not a library for aarch64"):
        cross.export(executable, tmp_path / "model.so", tmp_path, cross.TRIPLES["arm64"])
