"""Facts of files of weights that tests make."""

import io

from registry.weightsfiles.facts import WeightsFacts
from registry.weightsfiles.formats import reader_of


def read(path: str, data: bytes) -> WeightsFacts:
    """What the reader of the file name finds; fails without one."""
    reader = reader_of(path)
    assert reader is not None
    facts = reader(io.BytesIO(data), len(data))
    assert facts is not None
    return facts
