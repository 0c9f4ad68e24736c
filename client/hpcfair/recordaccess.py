"""What a loaded model can ask its hub about benchmark records."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, cast

from hpcfair.cache import Cache
from hpcfair.record import Record, record
from hpcfair.transport import Transport

if TYPE_CHECKING:
    from hpcfair.bench.reproduction import RecordReproduction


@dataclass(frozen=True, slots=True)
class RecordAccess:
    """Records of one hub."""

    http: Transport
    cache: Cache

    def read(self, record_id: str) -> Record:
        """See :func:`hpcfair.record.record`."""
        return record(self.http, self.cache, record_id)

    def reproduce(self, record_id: str, *, send: bool) -> "RecordReproduction":
        """See :func:`hpcfair.bench.reproduction.reproduce`."""
        # Imported here: few programs measure.
        module = import_module("hpcfair.bench.reproduction")
        return cast(
            "RecordReproduction", module.reproduce(self.http, self.cache, record_id, send=send)
        )
