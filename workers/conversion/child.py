"""Entry point of the child process that converts a folder.

Libraries read these variables when they are imported, so nothing else is imported before.
"""

import os
from typing import Any

_ENVIRONMENT = {
    # Nothing is fetched, and no code of others is run.
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "USE_TF": "0",
    "USE_HUB_KERNELS": "0",
}


def convert(folder: str, out: str) -> dict[str, Any]:
    """As :func:`workers.conversion.convert.convert`, without a network."""
    os.environ |= _ENVIRONMENT
    from workers.conversion.convert import convert as convert_folder  # noqa: PLC0415

    return convert_folder(folder, out)
