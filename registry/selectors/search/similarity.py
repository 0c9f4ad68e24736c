"""How similar the networks of models are to another network, and in what."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import F

from registry.states import ArchitectureClass, RefKind
from registry.tables import Graph, MLModel, Ref

#: Operators that are named, and largest relative difference of "nearly as many" parameters.
_NAMED, _NEAR = 3, 0.1


@dataclass(frozen=True, slots=True)
class Similarity:
    """Similarity of a network to another one.

    Attributes:
        score: Cosine of the structure embeddings; 1.0 for equal structures, 0.0 for unlike ones.
        alike: What the networks have in common, each in a few words.
    """

    score: float
    alike: tuple[str, ...]


def similarities_of(reference: Graph, mlmodels: Sequence[MLModel]) -> dict[int, Similarity]:
    """Key of an MLModel to the similarity of its head's network; two queries.

    Models without a network, or whose embedding is of another kind, are left out.
    """
    heads = Ref.objects.filter(
        mlmodel__in=mlmodels, kind=RefKind.BRANCH, name=F("mlmodel__default_branch")
    )
    owners = {revision: pk for pk, revision in heads.values_list("mlmodel_id", "revision_id")}
    graphs = Graph.objects.filter(revision__in=owners, is_primary=True).order_by("-path")
    # Of several primary graphs the first by path is used, as by graph_of.
    return {
        owners[graph.revision_id]: similarity(reference, graph)
        for graph in graphs
        if len(graph.embedding) == len(reference.embedding)
    }


def similarity(reference: Graph, other: Graph) -> Similarity:
    """The similarity of two networks with embeddings of the same kind."""
    if other.graph_hash == reference.graph_hash:
        return Similarity(1.0, ("same structure", *_interface(reference, other)))
    lengths = math.hypot(*reference.embedding) * math.hypot(*other.embedding)
    pairs = zip(reference.embedding, other.embedding, strict=True)
    product = sum(own * value for own, value in pairs)
    score = round(max(0.0, product / lengths), 3) if lengths else 0.0
    alike = [
        *_class(reference, other),
        *_operators(reference.operators, other.operators),
        *_interface(reference, other),
        *_size(reference, other),
    ]
    return Similarity(score, tuple(alike))


def _class(reference: Graph, other: Graph) -> list[str]:
    own = reference.architecture_class
    is_same = other.architecture_class == own and own != ArchitectureClass.OTHER
    return [f"both are {own}"] if is_same else []


def _operators(reference: Mapping[str, int], other: Mapping[str, int]) -> list[str]:
    """The share of operators that both have, as overlap of their counts."""
    shared = {name: min(count, other.get(name, 0)) for name, count in reference.items()}
    total = max(sum(reference.values()), sum(other.values()))
    percent = 100 * sum(shared.values()) // total if total else 0
    if not percent:
        return []
    most = sorted(filter(shared.get, shared), key=lambda name: (-shared[name], name))[:_NAMED]
    return [f"{percent} % of operators in common, most of them {', '.join(most)}"]


def _interface(reference: Graph, other: Graph) -> list[str]:
    """Whether types and shapes are equal, whatever the tensors are called."""

    def tensors(graph: Graph) -> list[list[tuple[object, object]]]:
        return [
            [(tensor.get("dtype"), tensor.get("shape")) for tensor in graph.signature.get(side, [])]
            for side in ("inputs", "outputs")
        ]

    is_same = any(tensors(reference)) and tensors(reference) == tensors(other)
    return ["same inputs and outputs"] if is_same else []


def _size(reference: Graph, other: Graph) -> list[str]:
    is_near = abs(other.parameters - reference.parameters) <= _NEAR * reference.parameters
    return ["nearly as many parameters"] if is_near else []
