"""Checks of files before anything is sent: their first bytes, and samples against the network."""

import sys
import warnings
import zipfile
from collections.abc import Collection
from pathlib import Path

import numpy as np

from hpcfair.errors import BadInput, HpcfairError, InvalidModelFile
from hpcfair.exporters.base import Files
from hpcfair.formats import NETWORK_FORMATS, START_BYTES, TFLITE, has_network, mistake_in, opener_of
from hpcfair.runtimes import registry
from hpcfair.runtimes.base import Runtime, TensorInfo
from hpcfair.samplefit import misfits
from hpcfair.samples import NAME as SAMPLES

#: The network of a folder with several, as the hub chooses it.
_PREFERRED = ("model.onnx", "onnx/model.onnx")


def check_files(files: Files) -> None:
    """Refuse files that the hub would refuse, before they are sent.

    Raises:
        InvalidModelFile: a file named like a network begins like something else.
        BadInput: the samples do not fit the network.
    """
    for path, local in files.items():
        if has_network([path]):
            with local.open("rb") as stream:
                mistake = mistake_in(path, stream.read(START_BYTES))
            if mistake:
                # A single file is published under another name than its own.
                name = path if path.endswith(local.name) else local.name
                raise InvalidModelFile(
                    f"{name} is {mistake}.",
                    "Export the model to ONNX, and publish that file.",
                    code="tflite_invalid" if TFLITE.matches(path) else "onnx_unreadable",
                )
    network = network_of(files)
    if network is not None and SAMPLES in files:
        _check_samples(network, files[network], files[SAMPLES])


def network_of(paths: Collection[str]) -> str | None:
    """The network among the files of a folder; ``None`` without one, or if it is not clear."""
    for preferred in _PREFERRED:
        if preferred in paths:
            return preferred
    for each in NETWORK_FORMATS:
        networks = [path for path in paths if each.matches(path)]
        if networks:
            return networks[0] if len(networks) == 1 else None
    return None


def _check_samples(network: str, local: Path, samples: Path) -> None:
    runtime = _opened(local)
    if runtime is None:
        return
    signature = {"inputs": _described(runtime.inputs), "outputs": _described(runtime.outputs)}
    runtime.close()
    try:
        with np.load(samples) as archive:
            arrays = {name: (archive[name].dtype.name, archive[name].shape) for name in archive}
    except (OSError, ValueError, zipfile.BadZipFile):
        # The hub says what is wrong with such a file.
        return
    if problems := misfits(arrays, signature):
        raise BadInput(
            f"{SAMPLES} does not fit {network}: {'; '.join(problems)}.",
            "Pass example_inputs of the types and shapes that the network takes.",
        )


def _opened(local: Path) -> Runtime | None:
    """The network, in a confined child process where this system has them. ``None`` if it cannot be
    opened here: the inspection of the hub decides."""
    opener = opener_of(local)
    opened = registry.open_isolated if sys.platform == "linux" else registry.open
    try:
        with warnings.catch_warnings():
            # The file is the user's own: weaker isolation protects well enough.
            warnings.simplefilter("ignore", UserWarning)
            return opened(opener.runtime, local, opener.reference)
    except HpcfairError:
        return None


def _described(tensors: tuple[TensorInfo, ...]) -> list[dict[str, object]]:
    return [{"name": t.name, "dtype": t.dtype, "shape": list(t.shape)} for t in tensors]
