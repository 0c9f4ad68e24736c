"""NVIDIA GPUs, on a recorded management library: what is read, and which targets that makes."""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pynvml
import pytest

from hpcfair import machine, nvidia, resolution
from hpcfair.errors import BadInput

H200 = {
    "name": "NVIDIA H200",
    "memory": 150_754_820_096,
    "driver": "580.159.03",
    "capability": (9, 0),
    "uuid": "GPU-5e1f2d3c-0000-0000-0000-000000000001",
    "energy": 123_456_789,
}
#: A card that tells little, as old ones and those of virtual machines do.
SHY = {"name": "GRID K1", "driver": "367.128"}


class Recorded:
    """Answers the queries of ``pynvml`` from ``cards``; a card's handle is its index."""

    def __init__(self, *cards: dict[str, Any], broken: int = 0) -> None:
        self._cards = cards
        self._broken = broken
        self.open = 0

    def nvmlInit(self) -> None:  # noqa: N802  the library's names
        if self._broken:
            raise pynvml.NVMLError(self._broken)
        self.open += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.open -= 1

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return len(self._cards)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        if index >= len(self._cards):
            raise pynvml.NVMLError(pynvml.NVML_ERROR_INVALID_ARGUMENT)
        return index

    def nvmlDeviceGetName(self, handle: int) -> Any:  # noqa: N802
        return self._answer(handle, "name")

    def nvmlDeviceGetUUID(self, handle: int) -> Any:  # noqa: N802
        return self._answer(handle, "uuid")

    def nvmlSystemGetDriverVersion(self) -> Any:  # noqa: N802
        return self._answer(0, "driver")

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:  # noqa: N802
        return SimpleNamespace(total=self._answer(handle, "memory"))

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: int) -> Any:  # noqa: N802
        return self._answer(handle, "energy")

    def nvmlDeviceGetCudaComputeCapability(self, handle: int) -> Any:  # noqa: N802
        return self._answer(handle, "capability")

    def _answer(self, handle: int, key: str) -> Any:
        if key not in self._cards[handle]:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
        return self._cards[handle][key]


def _install(monkeypatch: pytest.MonkeyPatch, library: Recorded) -> Recorded:
    for name in dir(library):
        if name.startswith("nvml"):
            monkeypatch.setattr(pynvml, name, getattr(library, name))
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
    (gpu,) = nvidia.gpus()
    assert (gpu.name, gpu.memory_bytes, gpu.driver, gpu.capability) == (
        "NVIDIA H200", 150_754_820_096, "580.159.03", "9.0",
    )  # fmt: skip
    assert gpu.uuid_sha256 is not None
    assert len(gpu.uuid_sha256) == 64
    assert library.open == 0


def test_energy_is_that_of_the_card_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, Recorded(SHY, H200))
    assert nvidia.energy_mj(1) == 123_456_789
    for index in (0, 7):
        with pytest.raises(OSError, match=f"GPU {index}"):
            nvidia.energy_mj(index)


def test_what_a_card_does_not_tell_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, Recorded(SHY))
    (gpu,) = nvidia.gpus()
    assert gpu == nvidia.Gpu(0, "GRID K1", None, "367.128", None, None)


@pytest.mark.parametrize("broken", [9, 18])
def test_a_driver_that_does_not_answer_is_no_gpu(
    monkeypatch: pytest.MonkeyPatch, broken: int
) -> None:
    _install(monkeypatch, Recorded(H200, broken=broken))
    assert nvidia.gpus() == ()


def test_no_driver_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = Recorded(broken=pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)
    _install(monkeypatch, missing)
    assert nvidia.gpus() == ()


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
