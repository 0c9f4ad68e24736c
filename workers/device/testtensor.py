"""Test tensors of a network: published with it, or made by the hub.

Published tests are files such as ``test_data_set_0/input_0.pb`` beside the network. Made ones have
inputs of the samples or a seed, and outputs of the unoptimised float32 network on a CPU.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from hpcfair.isolation.limits import Limits
from hpcfair.tickets import FileTicket, GraphFacts, JobTicket, TensorTicket, parse_test_path
from workers.device.errors import HubError
from workers.device.network import network_of
from workers.device.ports import DeviceSettings, Hub
from workers.device.reference import OpenReference, open_reference
from workers.engine.child import call
from workers.engine.errors import BackendUnavailable, CandidateFailed, InvalidCandidate
from workers.engine.handover import protocol_error
from workers.engine.numerics import Outputs, run_reference
from workers.engine.ports import Array
from workers.engine.samples import sample_rows
from workers.engine.sizes import MAX_TEST_BYTES, array_bytes
from workers.engine.testset import EXTRA_MACS, TestSet

_CHILD = "workers.inspection.tensors"
_WALL_S = 300.0
#: Limit of opening the network and of each run, in seconds; later uploads wait for it.
_RUN_WALL_S = 120.0
_SEED = 0
#: Numbers of sets that are made, and of published sets that are read.
_MADE, _READ = 3, 16
_MAX_NOTE = 500
#: First claims of a job that are repeated if the machine fails while tests are made; later ones do
#: without tests. Attempts are not counted, because such failures are not charged.
_REPEATED_CLAIMS = 6
_SIDES = ("input", "output")

#: ``{"input": {name: array}, "output": {name: array}}``
Case = dict[str, dict[str, Array]]
_Position = tuple[int, str, int]  # number of the set, side, index


def keep_tests(
    hub: Hub, settings: DeviceSettings, graph: GraphFacts, folder: Path
) -> tuple[TensorTicket, ...]:
    """The test tensors of a job's network; without any, published ones are read or new ones made.

    The network is opened as the reference on the way. ``folder`` is private. On another failure the
    result is empty, and the job's log says why.

    Raises:
        JobFailure: the runtime does not open the network: ``network_fails``.
        LeaseLost: another worker may have the job.
        CandidateFailed: the machine failed in one of the first attempts; the job is to be repeated.
    """
    if stored := hub.read("tests_of_job"):
        return _tickets(stored)
    try:
        tensors = _tensors(hub, _limits(settings), graph, folder)
        return _tickets(hub.write("tests_store", tensors=tensors))
    except (
        BackendUnavailable,
        CandidateFailed,
        HubError,
        InvalidCandidate,
        OSError,
        TypeError,
        ValueError,
    ) as error:
        if isinstance(error, CandidateFailed) and _is_worth_repeating(hub.ticket, error):
            raise
        _note(hub, f"No test tensors: {error}")
        return ()


def _tensors(hub: Hub, limits: Limits, graph: GraphFacts, folder: Path) -> list[dict[str, Any]]:
    """Published test tensors, or made ones. The network is opened in either case."""
    tensors = _published(hub, limits, graph, folder)
    network = network_of(hub, graph, folder / "network")
    of_runs = replace(limits, wall_s=_RUN_WALL_S)
    try:
        with open_reference(network, graph.format, folder / "reference", of_runs) as reference:
            return tensors or _made(hub, limits, reference, graph, folder)
    except (BackendUnavailable, CandidateFailed, InvalidCandidate):
        # Published tests do not depend on what this machine can open.
        if not tensors:
            raise
        return tensors


def _is_worth_repeating(ticket: JobTicket, error: CandidateFailed) -> bool:
    """Whether a child ended by the machine's fault, such as a kill, and not again and again."""
    is_fault = error.outcome == "infrastructure" and error.cause != "unavailable"
    return is_fault and ticket.fence - ticket.yields <= _REPEATED_CLAIMS


def load_cases(
    hub: Hub, settings: DeviceSettings, tensors: Sequence[TensorTicket], folder: Path
) -> list[Case]:
    """The arrays of test sets, read in a confined child process. Raises CandidateFailed if a tensor
    cannot be read."""
    files, scratch = folder / "sets", folder / "reading"
    scratch.mkdir()
    hub.fetch([tensor.file for tensor in tensors], files)
    requested = [
        {"number": t.number, "side": t.side, "name": t.name, "path": t.file.path} for t in tensors
    ]
    sets = call(
        f"{_CHILD}:load_sets",
        limits=_limits(settings),
        workspace=scratch,
        readable=[files],
        folder=str(files),
        tensors=requested,
    )
    try:
        cases = [_case(one) for one in sets]
    except (TypeError, AttributeError) as error:
        raise protocol_error(error) from error
    if not cases:
        raise protocol_error("no tensors")
    return cases


def _published(hub: Hub, limits: Limits, graph: GraphFacts, folder: Path) -> list[dict[str, Any]]:
    files = _beside(hub.ticket, graph)
    numbers = sorted({position[0] for _, position in files})
    if len(numbers) > _READ:
        _note(hub, f"Of {len(numbers)} test sets the first {_READ} are used.")
    files = [(file, position) for file, position in files if position[0] in numbers[:_READ]]
    if not files:
        return []
    local, scratch = folder / "published", folder / "published-scratch"
    scratch.mkdir()
    hub.fetch([file for file, _ in files], local)
    read = call(
        f"{_CHILD}:read_sets",
        limits=limits,
        workspace=scratch,
        readable=[local],
        folder=str(local),
        files=[
            {"number": number, "side": side, "index": index, "path": file.path}
            for file, (number, side, index) in files
        ],
        signature=graph.signature,
    )
    digests = {position: file.sha256 for file, position in files}
    try:
        for warning in read["warnings"]:
            _note(hub, str(warning))
        return [
            _row(position, tensor["name"], digests[position], is_made=False)
            for tensor in read["tensors"]
            for position in [(tensor["number"], tensor["side"], tensor["index"])]
        ]
    except (KeyError, TypeError) as error:
        raise protocol_error(error) from error


def _row(position: _Position, name: str, sha256: str, *, is_made: bool) -> dict[str, Any]:
    """A tensor as :func:`registry.services.results.testtensor.tests_store` takes it."""
    row = dict(
        zip(("number", "side", "index", "name", "sha256"), (*position, name, sha256), strict=True)
    )
    return {**row, "is_made": is_made}


def _beside(ticket: JobTicket, graph: GraphFacts) -> list[tuple[FileTicket, _Position]]:
    """Files named like test tensors beside the network, with paths relative to its folder."""
    parent = PurePosixPath(graph.path).parent.as_posix()
    prefix = "" if parent == "." else f"{parent}/"
    files = []
    for file in ticket.files:
        path = file.path.removeprefix(prefix)
        position = parse_test_path(path) if file.path == prefix + path else None
        if position is not None:
            files.append((replace(file, path=path), position))
    return files


def _made(
    hub: Hub, limits: Limits, reference: OpenReference, graph: GraphFacts, folder: Path
) -> list[dict[str, Any]]:
    cases = _within_bound(_reference_cases(reference, graph))
    written = folder / "made"
    written.mkdir()
    write = f"{_CHILD}:write_sets"
    call(write, limits=limits, workspace=written, folder=str(written), sets=cases)
    return [
        _row((number, side, index), name, _keep(hub, written, (number, side, index)), is_made=True)
        for number, case in enumerate(cases)
        for side in _SIDES
        for index, name in enumerate(case[side])
    ]


def _within_bound(cases: list[Case]) -> list[Case]:
    """The first sets that one message to a child process can carry."""
    sizes = accumulate(sum(map(array_bytes, case.values())) for case in cases)
    return [case for case, size in zip(cases, sizes, strict=True) if size <= MAX_TEST_BYTES]


def _keep(hub: Hub, folder: Path, position: _Position) -> str:
    number, side, index = position
    path = folder / f"test_data_set_{number}" / f"{side}_{index}.pb"
    # DANGER: a child process wrote it; a link could lead to files that only the worker may read.
    if not (path.is_file() and path.resolve().is_relative_to(folder.resolve())):
        raise protocol_error(f"no file {path.name}")
    return hub.keep(path)


def _reference_cases(reference: OpenReference, graph: GraphFacts) -> list[Case]:
    network = reference.network
    tests = _few(reference.device.test_set(sample_rows(network), _SEED), graph)
    outputs = run_reference(reference.session, tests)
    inputs = [spec.name for spec in network.inputs]
    names = [spec.name for spec in network.outputs]
    return [
        {"input": {name: case[name] for name in inputs}, "output": _in_order(result, names)}
        for case, result in zip(tests.cases, outputs, strict=True)
    ]


def _few(tests: TestSet, graph: GraphFacts) -> TestSet:
    count = 1 if graph.macs and graph.macs > EXTRA_MACS else _MADE
    return replace(tests, cases=tests.cases[:count], labels=None, extras=(), planted=())


def _in_order(outputs: Outputs, names: Sequence[str]) -> dict[str, Array]:
    if outputs is None or not set(names) <= outputs.keys():
        raise protocol_error("outputs of other names than the network's")
    return {name: outputs[name] for name in names}


def _case(value: Any) -> Case:
    """A test set read by a child process, checked because its input is untrusted."""
    if not isinstance(value, dict) or value.keys() != set(_SIDES):
        raise protocol_error(type(value).__name__)
    arrays = [array for side in value.values() for array in side.values()]
    if not all(isinstance(array, np.ndarray) for array in arrays):
        raise protocol_error("a value that is not an array")
    return value


def _tickets(rows: Iterable[dict[str, Any]]) -> tuple[TensorTicket, ...]:
    return tuple(TensorTicket.from_json(row) for row in rows)


def _limits(settings: DeviceSettings) -> Limits:
    return Limits(wall_s=_WALL_S, memory_bytes=settings.child_memory_bytes)


def _note(hub: Hub, message: str) -> None:
    hub.write("note", message=message[:_MAX_NOTE])
