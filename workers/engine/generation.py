"""Times builds of decoders as they generate: the first token of a prompt, and one further token."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from statistics import median

from hpcfair.decoder import POSITIONS, DecoderInputs
from workers.engine.confirmation import ConfirmedResult
from workers.engine.errors import CandidateFailed
from workers.engine.ports import Array, Device
from workers.engine.random_inputs import open_sizes, random_inputs
from workers.engine.search_result import SearchResult
from workers.engine.sizes import MAX_RUN_BYTES, run_bytes
from workers.engine.types import GenerationTiming, Network

#: Tokens of the prompts.
CONTEXTS = (128, 512)
#: Seconds of the runs of one figure, and bounds on their number.
_SECONDS, _FEWEST, _MOST = 0.5, 3, 20
_SEED = 0


def with_generation(result: SearchResult, network: Network, device: Device) -> SearchResult:
    """The result with times of generation of each build; unchanged if the network is no decoder.

    The builds' files must exist. A context that a build does not run on has no times.
    """
    inputs = dict(_inputs(network))
    if not inputs:
        return result
    baseline, *others = (
        replace(each, generation=_timed(each, inputs, device))
        for each in (result.baseline, *result.confirmed_results)
    )
    return replace(result, baseline=baseline, confirmed_results=tuple(others))


def _inputs(network: Network) -> Iterator[tuple[int, tuple[dict[str, Array], dict[str, Array]]]]:
    """Each context with the inputs of a prompt and of one further token."""
    decoder = DecoderInputs.of(network.inputs)
    if decoder is None or not isinstance(decoder.sequence, str):
        return
    usual = open_sizes(network)
    # Longer texts are outside of the table of positions.
    longest = network.integer_bounds.get(POSITIONS, CONTEXTS[-1])
    for context in (each for each in CONTEXTS if each <= longest):
        both = decoder.prompt_sizes(context), decoder.further_sizes(context)
        sizes = [decoder.with_mask_length(usual | each) for each in both]
        if all(run_bytes(network.inputs, each) <= MAX_RUN_BYTES for each in sizes):
            prompt, further = (random_inputs(network, _SEED, each) for each in sizes)
            yield context, (prompt, further)


def _timed(
    confirmed: ConfirmedResult,
    inputs: Mapping[int, tuple[Mapping[str, Array], Mapping[str, Array]]],
    device: Device,
) -> tuple[GenerationTiming, ...]:
    timings = []
    for context, pair in inputs.items():
        try:
            first, further = (_samples(confirmed, each, device) for each in pair)
        except CandidateFailed:
            continue
        runs = min(len(first), len(further))
        timings.append(GenerationTiming(context, median(first), median(further), runs))
    return tuple(timings)


def _samples(
    confirmed: ConfirmedResult, inputs: Mapping[str, Array], device: Device
) -> tuple[int, ...]:
    """Durations of runs in a fresh process, in nanoseconds."""
    backend = confirmed.trial.candidate.backend
    with closing(device.open(backend, confirmed.build, "candidate", inputs)) as session:
        (once,) = session.time(1, 1).samples_ns
        runs = min(max(round(_SECONDS * 1e9 / once), _FEWEST), _MOST)
        return session.time(runs, 0).samples_ns
