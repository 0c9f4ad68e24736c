"""This machine, with builds of any number of rows for networks of one row."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from workers.engine.local import LocalDevice
from workers.engine.normalform import read_paths
from workers.engine.openbatch import has_one_row, open_batch
from workers.engine.othermachine import OtherMachine
from workers.engine.ports import Backend, EnergyCounter
from workers.engine.queries.ports import OpenedBatch
from workers.engine.requests import TuningRequest

_OPENED, _BUILDS = "opened", "builds"


class LocalBatchDevice(LocalDevice):
    """This machine as a :class:`~workers.engine.queries.ports.BatchOpeningDevice`."""

    def __init__(
        self,
        request: TuningRequest,
        backends: Mapping[str, Backend],
        scratch: Path,
        counters: Sequence[EnergyCounter] = (),
        other: OtherMachine | None = None,
    ) -> None:
        super().__init__(request, backends, scratch, counters, other)
        self._request, self._backends, self._other_machine = request, backends, other

    def open_batch(self) -> OpenedBatch | None:
        request = self._request
        if request.batch_opener is None or not has_one_row(request.network):
            return None
        network = self._shared.read()
        folder = self._new_folder()
        opened, builds = folder / _OPENED, folder / _BUILDS
        opened.mkdir()
        builds.mkdir()
        with self._child(folder, *read_paths(network)) as child:
            network = open_batch(request.batch_opener, network, child, opened, request.limits)
        # It is in normal form already.
        request = replace(request, network=network, normaliser=None, batch_opener=None)
        builder = LocalDevice(request, self._backends, builds, other=self._other_machine)
        return OpenedBatch(network, builder)
