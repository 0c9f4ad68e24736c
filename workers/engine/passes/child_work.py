"""What a study of passes has its child processes do. Runs confined, in a child."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from workers.engine.child_work import backend_of, target_from, workload_from
from workers.engine.errors import InvalidCandidate
from workers.engine.types import Options


def compile_each(
    *,
    backend: str,
    workload: Mapping[str, Any],
    target: Mapping[str, Any],
    sequence: Sequence[Options],
    out: str,
) -> list[dict[str, Any]]:
    """Build candidates one after another in one process, and keep none of their files.

    One process, because two differ by more than many a pass costs, and importing a compiler takes
    longer than compiling.

    Returns:
        Of each its ``seconds`` and ``fingerprint``, or why it cannot be built as ``detail``.
    """
    maker, spec, network = backend_of(backend), target_from(target), workload_from(workload)
    maker.probe(spec)
    told = []
    for number, options in enumerate(sequence):
        folder = Path(out) / str(number)
        folder.mkdir()
        started = perf_counter()
        try:
            built = maker.build(network, spec, options, folder)
        except InvalidCandidate as error:
            told.append({"seconds": 0.0, "fingerprint": "", "detail": str(error) or "invalid"})
        else:
            seconds = built.compile_s or perf_counter() - started
            fingerprint = str(built.provenance.get("fingerprint", ""))
            told.append({"seconds": seconds, "fingerprint": fingerprint, "detail": ""})
        shutil.rmtree(folder)
    return told
