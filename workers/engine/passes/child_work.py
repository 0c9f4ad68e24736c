"""What a study of passes has its child processes do. Runs confined, in a child."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workers.engine.child_work import backend_of, network_from, target_from
from workers.engine.errors import InvalidCandidate
from workers.engine.passes.menu import PassBackend
from workers.engine.types import Options


def rehearse_each(
    *,
    backend: str,
    network: Mapping[str, Any],
    target: Mapping[str, Any],
    sequence: Sequence[Options],
    timed: bool,
    out: str,
) -> list[dict[str, Any]]:
    """Compile candidates one after another in one process, and keep nothing.

    One process, because two differ by more than many a pass costs, and importing a compiler takes
    longer than compiling.

    Returns:
        Of each its ``seconds`` and ``fingerprint``, or why it cannot be compiled as ``detail``.
    """
    maker, spec, model = backend_of(backend), target_from(target), network_from(network)
    assert isinstance(maker, PassBackend)  # noqa: S101  nobody else is asked
    maker.probe(spec)
    told = []
    for number, options in enumerate(sequence):
        folder = Path(out) / str(number)
        folder.mkdir()
        try:
            seconds, fingerprint = maker.rehearse(model, spec, options, folder, timed=timed)
        except InvalidCandidate as error:
            told.append({"seconds": 0.0, "fingerprint": "", "detail": str(error) or "invalid"})
        else:
            told.append({"seconds": seconds, "fingerprint": fingerprint, "detail": ""})
        shutil.rmtree(folder)
    return told
