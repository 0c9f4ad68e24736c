"""Profiles with known answers, published as workers do."""

import json
from typing import Any

from registry.services.results.build import builds_publish
from registry.services.results.profile import profile_store
from registry.services.results.record import record_add
from registry.services.storage.blob import blob_store_bytes
from registry.services.work.attempt import job_succeed
from registry.tables import Build, Device, Roof, RoofSet
from tests.registry import shopfloor
from tests.registry.kernels.scripts import LLVM, TIR, X86
from tests.registry.shopfloor import Floor, call_site

WORKLOAD, OTHER_WORKLOAD = "c" * 64, "d" * 64
#: A schedule that tiles the rows and columns of a matrix product.
TRACE = [
    [
        ["GetSBlock", [], ["c", "main"], ["b0"]],
        ["GetLoops", ["b0"], [], ["l1", "l2", "l3"]],
        ["SamplePerfectTile", ["l1"], [2, 64], ["v4", "v5"]],
        ["Split", ["l1", "v4", "v5"], [True, False], ["l6", "l7"]],
        ["SamplePerfectTile", ["l2"], [2, 64], ["v8", "v9"]],
        ["Split", ["l2", "v8", "v9"], [True, False], ["l10", "l11"]],
        ["EnterPostproc", [], [], []],
    ],
    [[2, [8, 8]], [4, [3, 16]]],
]
_MADE = {
    "i_0": [(2, 0)], "j_0": [(4, 0)], "i_1": [(2, 1)], "k": [], "j_1": [(4, 1)], "j": [],
}  # fmt: skip
LOOPS = [
    {
        "name": name,
        "extent": 1,
        "decisions": [{"instruction": at, "result": result} for at, result in made],
        "unroll": None,
    }
    for name, made in _MADE.items()
]


def code(**texts: str) -> dict[str, str]:
    """Kind to the digest of stored code."""
    return {
        kind: blob_store_bytes(actor=None, data=text.encode()).sha256
        for kind, text in texts.items()
    }


def kernel(symbol: str, workload: str = "", **more: Any) -> dict[str, Any]:
    """A kernel without code."""
    return {"symbol": symbol, "workload": workload, "schedule": None, "code": {}, **more}


def planted() -> dict[str, Any]:
    """A profile of 1000 ns: a slow tuned kernel, an untuned one called twice, a conversion, a call
    without nodes, another precision; 100 ns pass between the calls. Node 4 was folded."""
    texts = code(tir=TIR, asm=X86, llvm=LLVM, loops=json.dumps(LOOPS))
    return {
        "method": "planted",
        "total_ns": 1000,
        "folded": [4],
        "kernels": [
            kernel("slow", WORKLOAD, schedule=TRACE, code=texts),
            kernel("twice", OTHER_WORKLOAD),
        ],
        "call_sites": [
            call_site("reorder#1", 50, operator="reorder"),
            call_site(
                "slow#1", 500, (0, "exact"), (1, "exact"), kernel="slow", mad_ns=25,
                precision="float32", implementation="tuned",
            ),
            call_site("twice#1", 100, (2, "exact"), kernel="twice", precision="float32"),
            call_site("twice#2", 150, (3, "inferred"), kernel="twice", precision="float32"),
            call_site("low#1", 100, (5, "shared"), operator="Gemm", precision="bfloat16"),
        ],
    }  # fmt: skip


def publish(floor: Floor, *profiles: dict[str, Any], **columns: Any) -> list[Build]:
    """A build for each profile, the first one the default, by one job."""
    floor.tune()
    ticket = floor.claim()
    held: dict[str, Any] = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    threads = ["all", "half", "one", "two"][: len(profiles)]
    made = []
    for number, each in enumerate(threads):
        document = shopfloor.document(floor.revision, each, job=ticket.job_uuid)
        record = record_add(**held, document=document)
        default = {"is_baseline": True, "ratio": 1.0, "verdict": "same"}
        more = default if number == 0 else {"ratio": 0.9 - number / 10, **columns}
        made.append(shopfloor.build(record.pk, each, **more))
    builds_publish(**held, builds=made)
    for build, profile in zip(made, profiles, strict=True):
        profile_store(**held, config_sha256=build["config_sha256"], profile=profile)
    job_succeed(**held, result={})
    rows = Build.objects.filter(graph=floor.graph, withdrawn_at=None)
    return [rows.get(config_sha256=build["config_sha256"]) for build in made]


def measure(device: Device | None, peaks: dict[str, float], memory: float) -> None:
    """Roofs of a device: operations per second by precision, bytes per second of main memory."""
    assert device is not None
    measured = RoofSet.objects.create(device=device, tools_sha256="e" * 64, took_s=1.0)
    rows = [("", "memory", memory), *((precision, "", peak) for precision, peak in peaks.items())]
    for precision, level, speed in rows:
        Roof.objects.create(
            roof_set=measured, precision=precision, level=level, per_second=speed, low=speed,
            high=speed, work=1.0, method="planted", threads=2,
        )  # fmt: skip
