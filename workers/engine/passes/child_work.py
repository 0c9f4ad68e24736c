"""The functions of a study of passes that run in a confined child process."""

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

    One process, because two processes differ by more than many a pass costs, and importing a
    compiler takes longer than compiling. Returns for each its ``seconds`` and ``fingerprint``, or
    as ``detail`` the reason why it cannot be compiled.
    """
    compiler, spec, model = backend_of(backend), target_from(target), network_from(network)
    assert isinstance(compiler, PassBackend)  # noqa: S101  the caller selects by this type
    compiler.probe(spec)
    results = []
    for number, options in enumerate(sequence):
        folder = Path(out) / str(number)
        folder.mkdir()
        try:
            seconds, fingerprint = compiler.rehearse(model, spec, options, folder, timed=timed)
        except InvalidCandidate as error:
            results.append({"seconds": 0.0, "fingerprint": "", "detail": str(error) or "invalid"})
        else:
            results.append({"seconds": seconds, "fingerprint": fingerprint, "detail": ""})
        shutil.rmtree(folder)
    return results
