"""The processor or GPU that a user wants a model to run on."""

from hpcfair import machine
from hpcfair.errors import BadInput


def target_of_device(device: str | None, target: str | None, here: machine.Machine) -> str | None:
    """The target of ``device`` on this machine; ``target`` if there is no device.

    Raises BadInput: there is no such device here, or a target was stated as well.
    """
    if device is None:
        return target
    if device not in {"cpu", "cuda"}:
        raise BadInput(
            f"There is no device {device!r}.",
            "Choose 'cpu' or 'cuda'. CUDA_VISIBLE_DEVICES selects one of several GPUs.",
        )
    if target != "auto":
        raise BadInput(f"device={device!r} and target={target!r} exclude each other.")
    if device == "cpu":
        return machine.target_slug(here)
    gpus = machine.targets_of(here)[1:]
    if not gpus:
        raise BadInput(
            "device='cuda': this machine has no NVIDIA GPU.", f"It is {machine.target_slug(here)}."
        )
    return gpus[0].slug
