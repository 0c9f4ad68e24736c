"""The search space of LiteRT.

::

    source ─ each published .tflite file by name
           └ convert-float32, convert-int8 (models with a PyTorch program): see convert.py
    kernels ─ xnnpack, builtin: threads
            └ reference
"""

from importlib import util

from workers.backends.space import thread_counts
from workers.engine.space import Choice, Conditional, Parameter, Space
from workers.engine.types import AlternativeFormat, Network, Options, TargetSpec

CONVERTED = {"convert-float32": "float32", "convert-int8": "int8"}
#: Module of the converter, an extra because of its size: see the README.
CONVERTER = "litert_torch"


def space_of(network: Network, target: TargetSpec) -> Space:
    """Options worth trying for this network on this target."""
    threaded = Conditional("kernels", ("xnnpack", "builtin"), Choice(thread_counts(target.cores)))
    parameters: dict[str, Parameter] = {
        "source": Choice(_sources(network)),
        "kernels": Choice(("xnnpack", "builtin", "reference")),
        "threads": threaded,
    }
    each: list[Options] = [{"source": name} for name in _sources(network)]
    return Space(parameters).with_promising(*each)


def default_of(network: Network, target: TargetSpec) -> Options:
    """The first file with LiteRT's default kernels, on all cores."""
    threads = thread_counts(target.cores)[0]
    return {"source": _sources(network)[0], "kernels": "xnnpack", "threads": threads}


def reference_of(network: Network) -> Options:
    """The first file with LiteRT's reference kernels."""
    return {"source": _sources(network)[0], "kernels": "reference"}


def published(network: Network) -> dict[str, AlternativeFormat]:
    """The published ``.tflite`` files by name: the primary file first, then float32 ones.
    Reduced-precision variants are recognised by their names."""
    files = [form for form in network.alternatives if form.format == "tflite"]

    def order(form: AlternativeFormat) -> tuple[bool, bool, str]:
        name = form.path.name
        return form.path != network.model_path, _is_reduced(name), name

    files.sort(key=order)
    return {form.path.name: form for form in files}


def _sources(network: Network) -> tuple[str, ...]:
    names = tuple(published(network))
    convertible = any(form.format == "torch-export" for form in network.alternatives)
    if convertible and util.find_spec(CONVERTER):
        return (*names, *CONVERTED)
    # If there is nothing else, one candidate fails with the reason.
    return names or (next(iter(CONVERTED)),)


def _is_reduced(name: str) -> bool:
    return any(word in name.lower() for word in ("int8", "quant", "fp16", "float16", "f16"))
