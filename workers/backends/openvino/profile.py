"""Profiles builds with OpenVINO's performance counters.

A counter holds the mean over all runs since the network was compiled, in whole microseconds. The
network is compiled anew for each of a few rounds, the first run of a round is subtracted from its
sum, and times are medians over the rounds. This is exact to a microsecond; the rounding error of a
difference between two means would grow with the number of runs.
"""

import re
from collections.abc import Mapping, Sequence
from importlib import metadata
from statistics import median
from time import perf_counter, perf_counter_ns
from typing import Any

from hpcfair.errors import HpcfairError
from hpcfair.runtimes.openvino import compile_model, read_model, reshaped, settings
from workers.backends.attribution import Operator, attribute, read_graph
from workers.backends.openvino.convert import ExecutedOperator, executed
from workers.engine.errors import InvalidCandidate
from workers.engine.ports import Array
from workers.engine.profile import CallSite, NodeLink, Profile
from workers.engine.types import BuildResult, Network

#: Timed runs of a round, after an untimed one; bounds on the number of rounds; seconds for them.
_RUNS, _FEWEST, _MOST, _SECONDS = 4, 3, 5, 10.0
#: Operators that OpenVINO inserts to change layout or precision.
_CONVERSIONS = frozenset({"Reorder", "Convert", "FakeQuantize", "Transpose"})
#: Suffixes of the optimiser where it splits an int8 operator from its rescaling; names of operators
#: that NNCF inserts.
_APPENDED = re.compile(r"(/Dequantization\w*|/WithoutBiases|_original)$")
_INSERTED = re.compile(r"/fq_(output|input|weights)_\d|nncf_")
#: ONNX name by OpenVINO name of the same operator.
_ONNX = {"Convert": "Cast"}
_AXES = {4: "nchw", 5: "ncdhw"}


def profile_build(network: Network, build: BuildResult, inputs: Mapping[str, Array]) -> Profile:
    """Run a build under the profiler. Raises InvalidCandidate if OpenVINO cannot open or run it."""
    if build.directory is None:
        raise InvalidCandidate(f"nothing was built: {build.detail}")
    try:
        model = read_model(build.directory / build.entry_point)
        arrays = [inputs[port.any_name] for port in model.inputs]
        static = build.runtime_options.get("shapes") == "static" and model.is_dynamic()
        fixed = reshaped(model, [array.shape for array in arrays] if static else None)
        properties = settings(build.runtime_options) | {"PERF_COUNT": True}
        rounds: list[dict[ExecutedOperator, int]] = []
        totals: list[int] = []
        started = perf_counter()
        while len(rounds) < _FEWEST or (
            len(rounds) < _MOST and perf_counter() - started < _SECONDS
        ):
            compiled = compile_model(fixed, properties)
            rounds.append(_round(compiled, arrays, totals))
    except HpcfairError as error:
        raise InvalidCandidate(f"{error.detail} {error.hint}".strip()) from error
    operators = list(rounds[0])
    # OpenVINO numbers inserted operators anew each time, so rounds agree in order but not in names.
    if any([o.operator for o in each] != [o.operator for o in operators] for each in rounds):
        raise InvalidCandidate("OpenVINO compiles this network to different operators each time")
    attribution = attribute(read_graph(network.model_path), _operators(operators, _tensors(model)))
    return Profile(
        method=f"openvino {metadata.version('openvino')} performance counters,"
        f" medians of {len(rounds)} means of {_RUNS} runs",
        total_ns=int(median(totals)),
        call_sites=tuple(
            _site(each, times, links)
            for each, times, links in zip(
                operators,
                zip(*(r.values() for r in rounds), strict=True),
                attribution.links,
                strict=True,
            )
        ),
        folded=attribution.folded,
    )


def _round(compiled: Any, arrays: list[Array], totals: list[int]) -> dict[ExecutedOperator, int]:
    """Mean nanoseconds of each executed operator; adds times of whole runs to ``totals``."""
    request = compiled.create_infer_request()
    feed = dict(enumerate(arrays))
    try:
        request.infer(feed)
        first = counted_us(request)
        for _ in range(_RUNS):
            started = perf_counter_ns()
            request.infer(feed)
            totals.append(perf_counter_ns() - started)
    # OpenVINO's exceptions share no base below Exception.
    except Exception as error:
        raise InvalidCandidate(f"it does not run under the profiler: {error}") from error
    means = counted_us(request)
    return {
        each: max(0, (means[each.name] * (_RUNS + 1) - first[each.name]) * 1000 // _RUNS)
        for each in executed(compiled)
    }


def counted_us(request: Any) -> dict[str, int]:
    """Mean microseconds of each operator; 0 for those that took less than one."""
    return {
        each.node_name: round(each.real_time.total_seconds() * 1e6)
        for each in request.get_profiling_info()
    }


def least_us(request: Any, arrays: Sequence[Array], runs: int) -> dict[str, int]:
    """Microseconds of each operator in the fastest of some runs, the first since the network was
    compiled: at most one less than it took, and at most the least mean.

    The mean m(k) of the first k runs gives the time of the last one, k m(k) - (k - 1) m(k - 1).
    Whole microseconds make it uncertain by up to k - 1 more than a mean, which is added before
    times are compared.
    """
    feed = dict(enumerate(arrays))
    least: dict[str, int] = {}
    earlier: dict[str, int] = {}
    for run in range(runs):
        request.infer(feed)
        means = counted_us(request)
        for name, mean in means.items():
            last = (run + 1) * mean - run * earlier.get(name, 0) + run
            least[name] = min(least.get(name, mean), mean, last)
        earlier = means
    return least


def _operators(
    operators: list[ExecutedOperator], tensors: Mapping[str, tuple[str, ...]]
) -> list[Operator]:
    """Executed operators with the published graph's tensors that they produce."""
    outputs = {
        each.name: tuple(t for name in each.originals for t in _look_up(name, tensors))
        for each in operators
    }
    return [
        Operator(
            _ONNX.get(each.operator, each.operator),
            names=(),
            outputs=outputs[each.name],
            inputs=tuple(
                # A source that is no operator is an input of the graph with the name of its tensor.
                tensor
                for source in each.sources
                for tensor in outputs.get(source, (source,))
            ),
            converts=each.operator in _CONVERSIONS or all(map(_INSERTED.search, each.originals)),
        )
        for each in operators
    ]


def _look_up(name: str, tensors: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Tensors of an operator of the IR, by its name or its name without suffixes."""
    while name not in tensors:
        shorter = _APPENDED.sub("", name)
        if shorter == name:
            return ()
        name = shorter
    return tensors[name]


def _tensors(model: Any) -> dict[str, tuple[str, ...]]:
    """Tensors of the published graph that a node produces, by operator of the IR.

    The frontend converts node by node and names the outputs of each. An operator without such a
    name is part of the same node as the first named operator behind it. Operators that NNCF inserts
    round or scale the output of another operator and have its tensors.
    """
    tensors: dict[str, tuple[str, ...]] = {}
    inserted = []
    for operator in reversed(model.get_ordered_ops()):
        name = operator.friendly_name
        names = tuple(sorted(tensor for port in operator.outputs() for tensor in port.names))
        after = {
            tensors.get(target.get_node().friendly_name, ())
            for port in operator.outputs()
            for target in port.get_target_inputs()
        } - {()}
        if names:
            tensors[name] = names
        elif _INSERTED.search(name) and operator.get_input_size():
            inserted.append(operator)
        elif len(after) == 1:
            tensors[name] = after.pop()
    for operator in reversed(inserted):
        source = operator.input_value(0).get_node().friendly_name
        tensors[operator.friendly_name] = tensors.get(source, ())
    return tensors


def _site(each: ExecutedOperator, times_ns: Sequence[int], links: tuple[NodeLink, ...]) -> CallSite:
    middle = int(median(times_ns))
    return CallSite(
        name=each.name,
        operator=each.operator,
        median_ns=middle,
        mad_ns=int(median(abs(ns - middle) for ns in times_ns)),
        runs=len(times_ns) * _RUNS,
        precision=each.precision,
        layout=_layout(each.layout),
        implementation=each.implementation,
        nodes=links,
    )


def _layout(letters: str) -> str | None:
    """A layout with the usual names of axes: ``acdb`` is NHWC, ``aBcd16b`` is nChw16c."""
    axes = _AXES.get(sum(map(str.islower, set(letters.lower()))))
    if axes is None:
        return None
    usual = "abcde"[: len(axes)]
    named = letters.translate(str.maketrans(usual + usual.upper(), axes + axes.upper()))
    return named.upper() if named.isalpha() else named
