"""A card made of facts, for models and data sets whose authors wrote none. Pure functions."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.template.defaultfilters import filesizeformat

from hub.pages.buildwords import BuildWords
from hub.templatetags.figures import count
from registry.fair.description import Description
from registry.fair.parts import NetworkDescription, TensorDescription
from registry.states import ArchitectureClass

_ARCHITECTURES: dict[str, str] = {
    ArchitectureClass.RESIDUAL_CNN: "a residual convolutional network",
    ArchitectureClass.DEPTHWISE_CNN: "a depthwise convolutional network",
    ArchitectureClass.PLAIN_CNN: "a convolutional network",
    ArchitectureClass.DETECTION: "a detection network",
    ArchitectureClass.TRANSFORMER: "a transformer",
    ArchitectureClass.RECURRENT: "a recurrent network",
    ArchitectureClass.MLP: "a multilayer perceptron",
}
_FORMATS = {"onnx": "ONNX", "tflite": "TensorFlow Lite"}
#: Fields of a description that only authors can fill, with what a reader calls them.
_AUTHORS_PART = {
    "intended_use": "what it is for",
    "limitations": "its limits",
    "datasets": "the training data",
    "evaluations": "how well it works",
    "license": "under which licence it may be used",
}
_DATASETS_PART = {
    "intended_use": "what they are for",
    "limitations": "their limits",
    "license": "under which licence they may be used",
}


@dataclass(frozen=True, slots=True)
class FactCard:
    """Sections of sentences, each with its heading, and what only the authors can say."""

    sections: list[tuple[str, list[str]]]
    unstated: list[str]


def fact_card(description: Description, target: str, offers: Sequence[BuildWords]) -> FactCard:
    """The card of a version.

    Args:
        target: Slug of the target of ``offers``.
        offers: The best build of each tolerance class on it.
    """
    sections = [
        ("What it is", _subject(description)),
        ("Inputs and outputs", _tensors(description.network)),
        ("Speed", _speed(target, offers)),
        ("Origin", _origin(description)),
    ]
    part = _AUTHORS_PART if description.kind == "model" else _DATASETS_PART
    unstated = [words for field, words in part.items() if not getattr(description, field)]
    return FactCard([(title, lines) for title, lines in sections if lines], unstated)


def _subject(description: Description) -> list[str]:
    network = description.network
    files = f"{description.file_count} file{'' if description.file_count == 1 else 's'}"
    size = f"{files}, {filesizeformat(description.size_bytes)}"
    if network is None:
        noun = "a data set" if description.kind == "dataset" else "a model"
        return [f"{description.repository} is {noun} of {size}."]
    kind = _ARCHITECTURES.get(network.architecture_class, "a network")
    task = f" for {description.task.replace('-', ' ')}" if description.task else ""
    numbers = f"with {count(network.parameters)} parameters"
    if network.macs:
        numbers += f" and {count(network.macs)} multiply-accumulate operations per run"
    stored = f"Stored as {_FORMATS.get(network.format, network.format)}"
    if network.precision:
        stored += f", most weights in {network.precision}"
    return [f"{description.repository} is {kind}{task} {numbers}.", f"{stored}: {size}."]


def _tensors(network: NetworkDescription | None) -> list[str]:
    if network is None:
        return []
    return [f"Takes {_listed(network.inputs)}.", f"Returns {_listed(network.outputs)}."]


def _listed(tensors: Sequence[TensorDescription]) -> str:
    return ", ".join(f"{one.name} {one.dtype}[{','.join(map(str, one.shape))}]" for one in tensors)


def _speed(target: str, offers: Sequence[BuildWords]) -> list[str]:
    return [
        f"On {target}, {one.build.tolerance}: "
        f"{', '.join(part for part in (one.speed, one.latency, one.beside, one.cost) if part)} "
        f"({one.measured_on})."
        for one in offers
    ]


def _origin(description: Description) -> list[str]:
    authors = ", ".join(one.name for one in description.creators[:10])
    by = f", made by {authors}" if authors else ""
    lines = [f"Published by {description.owner.name} on {description.published:%-d %B %Y}{by}."]
    if description.license:
        license = description.license
        lines.append(f"Licence: {license.name or license.expression}.")
    lines += [f"Source: {one.source} ({one.relation})." for one in description.derived_from[:5]]
    return lines
