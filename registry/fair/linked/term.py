"""Vocabulary terms: constructors of their kinds, and the terms of relations and activities."""

from dataclasses import dataclass
from typing import Literal

from registry.fair.activities import ActivityKind
from registry.fair.parts import RelationName

#: Property of each relation; all are, or specialise, ``prov:wasDerivedFrom``.
DERIVATIONS: dict[RelationName, str] = {
    "derived": "prov:wasDerivedFrom",
    "finetune": "fair4ml:fineTunedFrom",
    "quantized": "hub:quantizedFrom",
    "adapter": "hub:adaptedFrom",
    "merge": "hub:mergedFrom",
    "exported": "hub:exportedFrom",
    "compiled": "hub:compiledFrom",
    "distilled": "hub:distilledFrom",
    "fork": "hub:forkedFrom",
    "copy": "hub:copiedFrom",
    "import": "hub:importedFrom",
}
#: Class of each kind of activity.
ACTIVITIES: dict[ActivityKind, str] = {
    "publish": "hub:Publishing",
    "train": "hub:Training",
    "merge": "hub:Merging",
    "inspect": "hub:Inspecting",
    "tune": "hub:Tuning",
    "compile": "hub:Compiling",
    "quantise": "hub:Quantising",
    "convert": "hub:Converting",
    "benchmark": "hub:Benchmarking",
    "fork": "hub:Forking",
    "reproduce": "hub:Reproducing",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A term of the hub's vocabulary, named below :data:`registry.fair.linked.context.HUB_TERMS`.

    ``parents`` are terms that it specialises, ``close`` and ``broad`` SKOS matches (``broad`` with
    a wider meaning), and ``see`` pages that describe similar terms.
    """

    name: str
    kind: Literal["class", "property", "concept"]
    label: str
    comment: str
    parents: tuple[str, ...] = ()
    close: tuple[str, ...] = ()
    broad: tuple[str, ...] = ()
    see: tuple[str, ...] = ()


def class_term(name: str, label: str, comment: str, *parents: str, close: str = "") -> Term:
    """A class; ``close`` holds names of close matches, separated by blanks."""
    return Term(
        name=name,
        kind="class",
        label=label,
        comment=comment,
        parents=parents,
        close=tuple(close.split()),
    )


def property_term(
    name: str, label: str, comment: str, *parents: str, close: str = "", see: str = ""
) -> Term:
    """A property; ``close`` and ``see`` hold names separated by blanks."""
    return Term(
        name=name,
        kind="property",
        label=label,
        comment=comment,
        parents=parents,
        close=tuple(close.split()),
        see=tuple(see.split()),
    )


def derivation_term(name: str, label: str, comment: str) -> Term:
    """A property that specialises ``prov:wasDerivedFrom``."""
    close = "hpc:wasDerivedFrom"
    return property_term(name, label, comment, "prov:wasDerivedFrom", close=close)


def activity_term(name: str, label: str, comment: str, close: str = "") -> Term:
    """A class of activities."""
    return class_term(name, label, comment, "prov:Activity", close=close)
