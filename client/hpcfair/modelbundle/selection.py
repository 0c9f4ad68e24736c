"""Chooses a build of a bundle for a machine, by the rule that the hub applies."""

from collections.abc import Mapping
from typing import Any

from hpcfair.choice import LoadRequest, Selection, TargetFacts, choose
from hpcfair.outputlimits import BuildFacts
from hpcfair.scenarios import SINGLE_STREAM

#: Members of the bundle's builds that are no members of the hub's answer.
_OURS = frozenset({"attestation"})


def resolve(manifest: Mapping[str, Any], body: Mapping[str, Any], source: str) -> dict[str, Any]:
    """The answer to a request for the best build, as the hub gives it.

    Args:
        body: The request.
        source: What the builds are from, for the reason.
    """
    builds = sorted(manifest["builds"], key=lambda build: str(build.get("created_at", "")))
    selection = choose(_published(manifest, builds), _request(body))
    chosen = None if selection.best is None else builds[selection.best]
    network = manifest["network"]
    count = f"{len(builds)} build{'' if len(builds) == 1 else 's'}"
    return {
        "revision": manifest["revision"],
        "build": chosen and _answer(chosen),
        "reason": f"{selection.reason} It is chosen from the {count} in {source}.",
        "alternatives": [_answer(builds[key]) for key in selection.others],
        "looser": _looser(builds, selection),
        "files": chosen["files"] if chosen else network["files"],
        "entry_point": chosen["entry_point"] if chosen else network["entry_point"],
        "signature": network["signature"],
        "record_id": chosen and chosen["record_id"],
        "attestation": chosen and chosen.get("attestation"),
        "model_file": network["model_file"],
    }


def _published(
    manifest: Mapping[str, Any], builds: list[dict[str, Any]]
) -> dict[TargetFacts, list[BuildFacts]]:
    targets = {
        target["slug"]: TargetFacts(
            target["slug"], target["architecture"], frozenset(target["features"]), target["rank"]
        )
        for target in manifest["targets"]
    }
    published: dict[TargetFacts, list[BuildFacts]] = {each: [] for each in targets.values()}
    for key, build in enumerate(builds):
        published[targets[build["target"]]].append(_facts(key, build))
    return published


def _facts(key: int, build: Mapping[str, Any]) -> BuildFacts:
    return BuildFacts(
        key=key,
        tolerance=build["tolerance"],
        ratio=build["ratio"],
        verdict=build["verdict"],
        is_baseline=build["is_baseline"],
        reproduction="differs" if build.get("reproduced") is False else "",
        runtime=build["runtime"],
        backend=build["backend"],
        relative_error=(build.get("deviation") or {}).get("relative_l2"),
        accuracy=build.get("accuracy"),
        scenario=build.get("scenario", SINGLE_STREAM),
    )


def _request(body: Mapping[str, Any]) -> LoadRequest:
    return LoadRequest(
        architecture=body["machine"]["architecture"],
        features=body["machine"]["features"],
        runtimes=body["runtimes"],
        tolerance=body["tolerance"],
        min_accuracy=body.get("min_accuracy"),
        scenario=body.get("scenario", SINGLE_STREAM),
    )


def _answer(build: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in build.items() if name not in _OURS}


def _looser(builds: list[dict[str, Any]], selection: Selection) -> list[dict[str, Any]]:
    copied = ("tolerance", "backend", "deviation", "accuracy", "accuracy_reference")
    looser = []
    for each in selection.looser:
        build = builds[each.key]
        looser.append(
            {
                **{name: build.get(name) for name in copied},
                "limits": dict(each.limits),
                "gain": 1 / build["ratio"],
                "latency_ns": build["p50_ns"],
                "deviation": build.get("deviation") or {},
                "relative_error": (build.get("deviation") or {}).get("relative_l2"),
            }
        )
    return looser
