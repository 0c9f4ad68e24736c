"""Calls verbs in the client's environment and prints a JSON object: call to what failed, or "".

Arguments: an empty folder to work in, and ``verbs`` or ``refusals``. The environment names the hub
(``HF_ENDPOINT``) and three tokens: ``HF_TOKEN`` of alice, ``BOB_TOKEN``, ``CHARLIE_TOKEN``.
"""

import json
import sys
import traceback
from pathlib import Path

from tests.clients.verbs.all import TABLE, methods, missing, present
from tests.clients.verbs.context import Context
from tests.clients.verbs.refusals import CASES, refuse_all


def main() -> None:
    """Call what the arguments name."""
    context = Context(Path(sys.argv[1]))
    if sys.argv[2] == "refusals":
        failures = [refuse_all(context, case, methods()) for case in CASES]
        result = {verb: text for some in failures for verb, text in some.items()}
    else:
        result = {name: _failure(context, name) for name in sys.argv[3:] or present()}
        result |= dict.fromkeys(missing(), "is not in the table")
    print(json.dumps({name: text for name, text in result.items() if text}))


def _failure(context: Context, name: str) -> str:
    try:
        TABLE[name].call(context)
    except Exception:  # noqa: BLE001 (reported)
        return traceback.format_exc(limit=-6)
    return ""


if __name__ == "__main__":
    main()
