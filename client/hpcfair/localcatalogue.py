"""Searches without the hub: the models whose files are in the cache or in one of the site."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hpcfair.cache import Cache
from hpcfair.hits import Speed
from hpcfair.localquery import SORTS, SPEEDS, LocalQuery, NumberFilter, RequestedTensor, parse
from hpcfair.outputlimits import accepts
from hpcfair.runtimes.base import TensorInfo
from hpcfair.scenarios import SINGLE_STREAM
from hpcfair.searchresults import Hits
from hpcfair.signature import Signature
from hpcfair.tree import tree_id
from hpcfair.types import Build, File, MLModelSummary

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model that can be loaded from the cache, and its cached builds."""

    summary: MLModelSummary
    signature: Signature
    builds: tuple[Build, ...]

    def best(self, query: LocalQuery) -> Build | None:
        """The cached build of the highest throughput, or else of the lowest latency, on the targets
        within the tolerance class and in the scenario of the query."""
        fitting = [build for build in self._builds(query, query.scenario) if build.p50_ns]
        return min(fitting, key=_speed_order, default=None)

    def number(self, name: str, query: LocalQuery) -> float | None:
        """The value that a query compares and sorts by; ``None`` if it is not known."""
        if name == "parameters":
            return self.summary.parameters
        if name == "size":
            return self.summary.size_bytes
        values = [
            value for build in self._builds(query, SPEEDS[name]) if (value := _number(name, build))
        ]
        if not values:
            return None
        return min(values) if SORTS[name] else max(values)

    def _builds(self, query: LocalQuery, scenario: str) -> list[Build]:
        targets = query.texts.get("target", set())
        measured = [one for one in self.builds if one.scenario == scenario]
        accepted = [one for one in measured if accepts(query.tolerance, one.tolerance)]
        return [one for one in accepted if not targets or one.target in targets]


def search(cache: Cache, hub: str, text: str, filters: Mapping[str, object], *, limit: int) -> Hits:
    """The cached models of a hub that match a query, as the hub would list them.

    Raises BadInput: the query is malformed, or needs the hub.
    """
    query = parse(text, filters)
    matching = [model for model in models(cache, hub) if _matches(model, query)]
    matching.sort(key=lambda model: model.summary.name)
    if query.sort in SORTS:
        matching.sort(key=lambda model: _order(model.number(query.sort, query), query.sort))
    elif query.sort == "relevance":
        matching.sort(key=lambda model: _hits_in_name(model, query), reverse=True)
    shown = [_with_speed(model, query) for model in matching[:limit]]
    return Hits(tuple(shown), len(matching))


def models(cache: Cache, hub: str) -> list[LocalModel]:
    """The models of a hub whose files are in the cache or its layers, each in the revision that was
    loaded last."""
    answers = [each for each in cache.answers() if each.get("request", {}).get("hub") == hub]
    latest: dict[str, list[dict[str, Any]]] = {}
    for each in sorted(answers, key=lambda each: str(each["at"]), reverse=True):
        group = latest.setdefault(each["request"]["name"].lower(), [])
        is_same = not group or group[0]["answer"]["revision"] == each["answer"]["revision"]
        if is_same and _has_files(cache, each["answer"]["files"]):
            group.append(each)
    return [_model(group) for group in latest.values() if group]


def _has_files(cache: Cache, files: Iterable[Mapping[str, Any]]) -> bool:
    identity = tree_id([File.from_json(file) for file in files])
    return any(layer.tree(identity).exists() for layer in (cache, *cache.layers))


def _model(group: Sequence[Mapping[str, Any]]) -> LocalModel:
    answer = group[0]["answer"]
    signature = Signature.from_json(answer["signature"])
    offered = [each["answer"].get("build") for each in group]
    builds = {build["uuid"]: Build.from_json(build) for build in offered if build}
    measured = (build for build in builds.values() if build.scenario == SINGLE_STREAM)
    exact = [build for build in measured if build.tolerance == "exact" and build.ratio]
    summary = MLModelSummary.from_json(
        {
            **answer.get("model", {}),
            "name": group[0]["request"]["name"],
            "revision": answer["revision"],
            "signature": str(signature),
            "builds": {build.target: build.ratio for build in exact},
            "size_bytes": sum(file["size_bytes"] for file in answer["files"]),
        }
    )
    return LocalModel(summary, signature, tuple(builds.values()))


def _speed_order(build: Build) -> tuple[float, int]:
    return -(build.throughput_per_s or 0.0), build.p50_ns or 0


def _number(name: str, build: Build) -> float | None:
    values = {
        "latency": build.p50_ns,
        "gain": 1 / build.ratio if build.ratio else None,
        "accuracy": build.accuracy,
        "throughput": build.throughput_per_s,
    }
    return values[name]


def _with_speed(model: LocalModel, query: LocalQuery) -> MLModelSummary:
    build = model.best(query)
    if build is None or not build.p50_ns or not build.ratio:
        return model.summary
    speed = Speed(
        build=build.uuid,
        target=build.target,
        latency_ns=build.p50_ns,
        default_ns=round(build.p50_ns / build.ratio),
        gain=1 / build.ratio,
        gain_low=1 / build.ratio_high if build.ratio_high else None,
        gain_high=1 / build.ratio_low if build.ratio_low else None,
        tolerance=build.tolerance,
        accuracy=build.accuracy,
        accuracy_reference=build.accuracy_reference,
        scenario=build.scenario,
        throughput_per_s=build.throughput_per_s,
        execution=build.execution,
    )
    return replace(model.summary, speed=speed)


def _matches(model: LocalModel, query: LocalQuery) -> bool:
    return (
        all(_has_word(model, word) for word in query.words)
        and all(phrase in _text(model) for phrase in query.phrases)
        and all(_has_value(model, name, values) for name, values in query.texts.items())
        and all(_holds(model, bound, query) for bound in query.bounds)
        and all(_has_tensors(model.signature, *sides) for sides in query.signatures)
    )


def _holds(model: LocalModel, bound: NumberFilter, query: LocalQuery) -> bool:
    return bound.holds(model.number(bound.name, query))


def _text(model: LocalModel) -> str:
    summary = model.summary
    parts = (summary.name, summary.title, " ".join(summary.tags), summary.description)
    return "\n".join(parts).lower()


def _has_word(model: LocalModel, text: str) -> bool:
    """Whether all words in ``text`` occur, in names and titles also as the beginning of one."""
    names = _WORD.findall(f"{model.summary.name} {model.summary.title}".lower())
    words = set(_WORD.findall(_text(model)))
    return all(
        word in words or any(name.startswith(word) for name in names)
        for word in _WORD.findall(text)
    )


def _has_value(model: LocalModel, name: str, values: set[str]) -> bool:
    summary = model.summary
    own = {
        "task": [summary.task],
        "license": [summary.license],
        "library": [summary.library],
        "tag": summary.tags,
        "class": [summary.architecture_class or ""],
        "by": [summary.name.partition("/")[0]],
        "target": [build.target for build in model.builds],
    }
    folded = {value.lower() for value in own[name]}
    return values <= folded if name in {"tag", "target"} else bool(values & folded)


def _has_tensors(
    signature: Signature, inputs: Sequence[RequestedTensor], outputs: Sequence[RequestedTensor]
) -> bool:
    sides = ((inputs, signature.inputs), (outputs, signature.outputs))
    return all(
        not requested or (len(requested) == len(own) and all(map(_fits, requested, own)))
        for requested, own in sides
    )


def _fits(requested: RequestedTensor, own: TensorInfo) -> bool:
    if requested.dtype != own.dtype:
        return False
    if requested.dims is None:
        return True
    return len(requested.dims) == len(own.shape) and not any(
        isinstance(dim, int) and isinstance(other, int) and dim != other
        for dim, other in zip(requested.dims, own.shape, strict=True)
    )


def _hits_in_name(model: LocalModel, query: LocalQuery) -> int:
    name = f"{model.summary.name} {model.summary.title}".lower()
    return sum(word in name for word in query.words)


def _order(number: float | None, name: str) -> float:
    if number is None:
        return float("inf")
    return number if SORTS[name] else -number
