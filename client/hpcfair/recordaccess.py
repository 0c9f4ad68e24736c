"""What a loaded model can ask its hub about benchmark records."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, cast

from hpcfair.cache import Cache
from hpcfair.errors import BadInput
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

    def reproduce(self, record_id: str | None, *, send: bool) -> "RecordReproduction":
        """See :func:`hpcfair.bench.reproduction.reproduce`."""
        if record_id is None:
            raise BadInput(
                "The published model was loaded, which has no record.",
                "hpcfair.reproduce() runs it on its test tensors.",
            )
        # Imported here: few programs measure.
        module = import_module("hpcfair.bench.reproduction")
        return cast(
            "RecordReproduction", module.reproduce(self.http, self.cache, record_id, send=send)
        )
