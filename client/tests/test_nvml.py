"""NVIDIA GPUs, on a recorded management library: what is read, and which targets that makes."""

import ctypes
import json
from dataclasses import replace
from typing import Any

import pytest

from hpcfair import _nvml, machine, resolution
from hpcfair.errors import BadInput

H200 = {
    "name": b"NVIDIA H200",
    "memory": 150_754_820_096,
    "driver": b"580.159.03",
    "capability": (9, 0),
    "uuid": b"GPU-5e1f2d3c-0000-0000-0000-000000000001",
    "energy": 123_456_789,
}
#: A card that tells little, as old ones and those of virtual machines do.
SHY = {"name": b"GRID K1", "driver": b"367.128"}
NOT_SUPPORTED = 3


class Recorded:
    """Takes the place of the loaded library: the same calls, answered from ``cards``."""

    def __init__(self, *cards: dict[str, Any], broken: int = 0) -> None:
        self._cards = cards
        self._broken = broken
        self.open = 0

    def nvmlInit_v2(self) -> int:  # noqa: N802  the library's names
        self.open += not self._broken
        return self._broken

    def nvmlShutdown(self) -> int:  # noqa: N802
        self.open -= 1
        return 0

    def nvmlDeviceGetCount_v2(self, count: Any) -> int:  # noqa: N802
        count._obj.value = len(self._cards)
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index: Any, handle: Any) -> int:  # noqa: N802
        if index.value >= len(self._cards):
            return NOT_SUPPORTED
        # Null is no handle.
        handle._obj.value = index.value + 1
        return 0

    def nvmlDeviceGetName(self, handle: Any, buffer: Any, _: Any) -> int:  # noqa: N802
        return self._answer(handle, "name", buffer)

    def nvmlDeviceGetUUID(self, handle: Any, buffer: Any, _: Any) -> int:  # noqa: N802
        return self._answer(handle, "uuid", buffer)

    def nvmlSystemGetDriverVersion(self, buffer: Any, _: Any) -> int:  # noqa: N802
        return self._answer(ctypes.c_void_p(1), "driver", buffer)

    def nvmlDeviceGetMemoryInfo(self, handle: Any, memory: Any) -> int:  # noqa: N802
        return self._answer(handle, "memory", memory._obj, "total")

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: Any, used: Any) -> int:  # noqa: N802
        return self._answer(handle, "energy", used._obj)

    def nvmlDeviceGetCudaComputeCapability(  # noqa: N802
        self, handle: Any, major: Any, minor: Any
    ) -> int:
        card = self._cards[handle.value - 1]
        if "capability" not in card:
            return NOT_SUPPORTED
        major._obj.value, minor._obj.value = card["capability"]
        return 0

    def _answer(self, handle: Any, key: str, into: Any, field: str = "value") -> int:
        card = self._cards[handle.value - 1]
        if key not in card:
            return NOT_SUPPORTED
        setattr(into, field, card[key])
        return 0


def _install(monkeypatch: pytest.MonkeyPatch, library: Recorded) -> Recorded:
    monkeypatch.setattr(_nvml.ctypes, "CDLL", lambda _: library)
    return library


@pytest.fixture
def gpu_machine(monkeypatch: pytest.MonkeyPatch) -> machine.Machine:
    """This machine with an H200 in it."""
    _install(monkeypatch, Recorded(H200))
    monkeypatch.setattr(machine, "_accelerators", machine._accelerators.__wrapped__)
    monkeypatch.setattr(machine.platform, "system", lambda: "Linux")
    return replace(machine.describe(), architecture="x86-64")


def test_a_gpu_is_read_with_its_units(monkeypatch: pytest.MonkeyPatch) -> None:
    library = _install(monkeypatch, Recorded(H200))
    (gpu,) = _nvml.gpus()
    assert (gpu.name, gpu.memory_bytes, gpu.driver, gpu.capability) == (
        "NVIDIA H200", 150_754_820_096, "580.159.03", "9.0",
    )  # fmt: skip
    assert gpu.uuid_sha256 is not None
    assert len(gpu.uuid_sha256) == 64
    assert library.open == 0


def test_energy_is_that_of_the_card_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, Recorded(SHY, H200))
    with _nvml.opened() as nvml:
        assert nvml.energy_mj(1) == 123_456_789
        assert nvml.energy_mj(0) is None
        assert nvml.energy_mj(7) is None


def test_what_a_card_does_not_tell_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, Recorded(SHY))
    (gpu,) = _nvml.gpus()
    assert gpu == _nvml.Gpu(0, "GRID K1", None, "367.128", None, None)


@pytest.mark.parametrize("broken", [9, 18])
def test_a_driver_that_does_not_answer_is_no_gpu(
    monkeypatch: pytest.MonkeyPatch, broken: int
) -> None:
    _install(monkeypatch, Recorded(H200, broken=broken))
    assert _nvml.gpus() == ()


def test_no_driver_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(_nvml.ctypes, "CDLL", missing)
    assert _nvml.gpus() == ()


def test_a_machine_with_a_gpu_keeps_its_processor_target_and_gains_others(
    gpu_machine: machine.Machine,
) -> None:
    assert {"cuda", "sm_90", "nvidia-h200"} <= set(gpu_machine.features)
    processor, model, generation = machine.targets_of(gpu_machine)
    assert processor == machine.target_of(gpu_machine)
    assert processor in machine.TARGETS
    assert (model.slug, generation.slug) == ("nvidia-h200", "nvidia-sm90")
    assert processor.rank < generation.rank < model.rank
    document = json.loads(json.dumps(gpu_machine.to_dict()))
    assert document["accelerators"][0]["capability"] == "9.0"


def test_a_gpu_can_be_asked_for_where_it_is(gpu_machine: machine.Machine) -> None:
    assert resolution._target(gpu_machine, "nvidia-h200").features == (
        "cuda", "sm_90", "nvidia-h200",
    )  # fmt: skip
    assert resolution._target(gpu_machine, "nvidia-sm90").slug == "nvidia-sm90"
    with pytest.raises(BadInput, match="it lacks sm_80"):
        resolution._target(gpu_machine, "nvidia-sm80")


def test_a_machine_without_a_gpu_is_what_it_was(gpu_machine: machine.Machine) -> None:
    features = tuple(feature for feature in gpu_machine.features if feature in machine.FEATURES)
    plain = replace(gpu_machine, features=features, accelerators=())
    assert machine.targets_of(plain) == (machine.target_of(gpu_machine),)
    assert "accelerators" not in plain.to_dict()
    with pytest.raises(BadInput, match="it lacks cuda, sm_90"):
        resolution._target(plain, "nvidia-sm90")


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("NVIDIA A100-SXM4-80GB", "nvidia-a100-sxm4-80gb"),
        ("Tesla V100-PCIE-16GB", "nvidia-tesla-v100-pcie-16gb"),
        ("NVIDIA GeForce RTX 4090 (Laptop)", "nvidia-geforce-rtx-4090-laptop"),
        ("NVIDIA " + "x" * 100, "nvidia-" + "x" * 43),
    ],
)
def test_a_model_names_its_target(name: str, slug: str) -> None:
    assert machine.Accelerator(name).slug == slug


def test_generations_are_told_apart_and_by_processor() -> None:
    assert len({target.slug for target in machine.GPU_TARGETS}) == len(machine.GPU_TARGETS)
    asked = [(target.architecture, target.features) for target in machine.GPU_TARGETS]
    assert len(set(asked)) == len(asked)
