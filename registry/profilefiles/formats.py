"""The table of formats."""

from collections.abc import Callable
from dataclasses import dataclass

from registry.profilefiles import nsight, onnxruntime, openvino, tensorrt
from registry.profilefiles.errors import ProfileFault
from registry.profilefiles.types import ProfileFile, check


@dataclass(frozen=True, slots=True)
class ProfileFormat:
    """A format of profile files.

    Attributes:
        tool: Name of the tool.
        title: The format, for people.
        command: How its files are made.
        recognises: Whether bytes look like this format.
        read: Reads a file, and a second one with details if the format has one.
        has_details: Whether there is such a second file.
    """

    name: str
    tool: str
    title: str
    command: str
    recognises: Callable[[bytes], bool]
    read: Callable[[bytes, bytes | None], ProfileFile]
    has_details: bool = False


FORMATS: dict[str, ProfileFormat] = {
    one.name: one
    for one in (
        ProfileFormat(
            onnxruntime.NAME,
            "ONNX Runtime",
            "ONNX Runtime trace (JSON)",
            "SessionOptions.enable_profiling, then end_profiling()",
            onnxruntime.recognises,
            onnxruntime.read,
        ),
        ProfileFormat(
            openvino.NAME,
            "OpenVINO",
            "OpenVINO counters (CSV or JSON)",
            "benchmark_app -report_type detailed_counters",
            openvino.recognises,
            openvino.read,
        ),
        ProfileFormat(
            tensorrt.NAME,
            "TensorRT",
            "TensorRT profile (JSON)",
            "trtexec --exportProfile=profile.json --exportLayerInfo=layers.json",
            tensorrt.recognises,
            tensorrt.read,
            has_details=True,
        ),
        ProfileFormat(
            nsight.NAME,
            "Nsight Systems",
            "Nsight Systems kernels (CSV)",
            "nsys stats --report cuda_gpu_trace --format csv",
            nsight.recognises,
            nsight.read,
        ),
    )
}


def read(data: bytes, *, name: str = "", details: bytes | None = None) -> ProfileFile:
    """A profile from the bytes of a file.

    Args:
        name: Of the format; "" recognises it.
        details: The second file of formats that have one.

    Raises:
        ProfileFault: no known format, damaged, or with times that cannot be true.
    """
    chosen = FORMATS.get(name) if name else recognised(data)
    if chosen is None:
        titles = ", ".join(each.title for each in FORMATS.values())
        raise ProfileFault("The format of the file is not recognised.", f"Known formats: {titles}.")
    if details is not None and not chosen.has_details:
        raise ProfileFault(f"A profile of the format {chosen.name} has no second file.")
    return check(chosen.read(data, details))


def recognised(data: bytes) -> ProfileFormat | None:
    """The format that the bytes look like."""
    return next((each for each in FORMATS.values() if each.recognises(data)), None)
