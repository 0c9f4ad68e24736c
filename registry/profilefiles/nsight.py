"""Reads kernels of Nsight Systems, as ``nsys stats --format csv`` writes them.

``cuda_gpu_trace`` has a row for each kernel and copy: ``Start (ns),Duration
(ns),CorrId,...,Strm,Name``. It is in the order of execution, so its kernels can be matched to a
network. ``cuda_gpu_kern_sum`` has a row for each different kernel: ``Time (%),Total Time
(ns),Instances,Avg (ns),Med (ns),...,Name``. Both may follow messages of the tool. Kernels do not
name nodes; the kind of operator is guessed from the words in their names.
"""

import re

from registry.profilefiles.bounds import number, parse_csv, texts
from registry.profilefiles.errors import ProfileFault
from registry.profilefiles.types import MeasuredCall, ProfileFile, spread

NAME = "nsight"
_TRACE, _SUMMARY = "Start (ns)", "Time (%)"
_COPY = re.compile(r"^\[CUDA (memcpy|memset)|^\[CUDA Unified")
#: Words in names of kernels, tried in this order, and the kind of operator that they betray.
_WORDS: tuple[tuple[str, str], ...] = (
    (r"nchwto|nhwcto|transpose|reformat|cudnn.*[Cc]onvert[Tt]ensor|copyPackedKernel", "Reformat"),
    (r"wgrad|dgrad", ""),
    (r"flash|fmha|fused_attention|mha", "Attention"),
    (r"conv(?!ert)|fprop|winograd|implicit_gemm|cudnn.*infer", "Conv"),
    (r"gemm|gemv|cublas|cutlass|matmul|xmma", "MatMul"),
    (r"softmax", "Softmax"),
    (r"layer_?norm", "LayerNormalization"),
    (r"batch_?norm|bn_fw", "BatchNormalization"),
    (r"pool", "Pool"),
    (r"reduce", "Reduce"),
    (r"gather|embedding", "Gather"),
    (r"elementwise|pointwise|vectorized|_add|relu|sigmoid|gelu|bias", "Elementwise"),
)


def recognises(data: bytes) -> bool:
    """Whether the file looks like a report of this tool."""
    return b"Start (ns)" in data or (b"Total Time (ns)" in data and b"Instances" in data)


def read(data: bytes, details: bytes | None = None) -> ProfileFile:  # noqa: ARG001
    """The kernels of one run. Raises ProfileFault."""
    for header, *rows in parse_csv(data, _TRACE):
        return _trace(_cells(header, rows, ("Start (ns)", "Duration (ns)", "Name")))
    for header, *rows in parse_csv(data, _SUMMARY):
        return _summary(_cells(header, rows, ("Total Time (ns)", "Instances", "Med (ns)", "Name")))
    raise ProfileFault(
        "The file has no table of kernels.",
        "Write it with: nsys stats --report cuda_gpu_trace --format csv report.nsys-rep",
    )


def _cells(header: list[str], rows: list[list[str]], columns: tuple[str, ...]) -> list[list[str]]:
    missing = [column for column in columns if column not in header]
    if missing:
        raise ProfileFault(f"The table has no column {missing[0]!r}.")
    places = [header.index(column) for column in columns]
    return [[row[place] for place in places] for row in rows if len(row) == len(header)]


def _trace(rows: list[list[str]]) -> ProfileFile:
    started = sorted(
        (
            round(number(start, what="'Start (ns)'")),
            round(number(took, what=f"The duration of {texts(name)[:60]!r}")),
            texts(name),
        )
        for start, took, name in rows
        if not _COPY.match(name)
    )
    names = [name for _, _, name in started]
    if not names:
        raise ProfileFault("The trace has no kernel, only copies.")
    length, runs = repetition(names)
    timed = started[len(started) - runs * length :]
    calls = []
    for place in range(length):
        times = [took for _, took, _ in timed[place::length]]
        middle, deviation = spread(times)
        calls.append(_call(timed[place][2], middle, deviation, runs))
    notes = [f"{length} kernels of a run, as they repeat {runs} times in the trace."]
    if runs == 1:
        notes = ["The trace does not repeat, so it is taken as one run, including its start."]
    return ProfileFile(
        format=NAME,
        method=f"Nsight Systems, cuda_gpu_trace, medians of {runs} runs",
        total_ns=sum(call.median_ns for call in calls),
        is_total_stated=False,
        calls=tuple(calls),
        notes=(*notes, "Copies between host and device are left out."),
    )


def _summary(rows: list[list[str]]) -> ProfileFile:
    figures = [
        (
            round(number(total, what=f"The time of {texts(name)[:60]!r}")),
            round(number(count, what="'Instances'")),
            texts(name),
        )
        for total, count, _, name in rows
    ]
    calls = tuple(_call(name, total, 0, max(1, count)) for total, count, name in figures)
    return ProfileFile(
        format=NAME,
        method="Nsight Systems, cuda_gpu_kern_sum, sums over the whole recording",
        total_ns=sum(call.median_ns for call in calls),
        is_total_stated=False,
        calls=calls,
        is_ordered=False,
        notes=("A summary has no order, and its times are sums over all runs of the recording.",),
    )


def repetition(names: list[str]) -> tuple[int, int]:
    """Length of the sequence that ``names`` ends with again and again, and how often it does.

    What lies before is the first run, which may differ: it is shorter than the sequence, or at most
    half of all with three repetitions or more. Without a repetition it is all of ``names``, once.

    By the failure function of Knuth, Morris and Pratt over the reversed names, in linear time: of
    the longest suffix that repeats, its shortest period.
    """
    backwards = names[::-1]
    failure = [0] * len(backwards)
    best = (len(names), 1)
    for place in range(1, len(backwards)):
        length = failure[place - 1]
        while length and backwards[place] != backwards[length]:
            length = failure[length - 1]
        failure[place] = length + (backwards[place] == backwards[length])
        suffix = place + 1
        period, before = suffix - failure[place], len(names) - suffix
        count = suffix // period
        if count >= 2 and (before < period or (count >= 3 and 2 * before <= len(names))):
            best = (period, count)
    return best


def _call(name: str, median_ns: int, mad_ns: int, runs: int) -> MeasuredCall:
    kind = next((kind for words, kind in _WORDS if re.search(words, name, re.IGNORECASE)), "")
    return MeasuredCall(
        name=name,
        operator=kind,
        median_ns=median_ns,
        mad_ns=mad_ns,
        runs=runs,
        implementation=name,
        converts=kind == "Reformat",
    )
