"""Answers a parent's calls inside a confined child process."""

import errno
import os
import sys
import traceback
from importlib import import_module
from typing import Any

from hpcfair.isolation import wire
from hpcfair.isolation.errors import FailureClass, Refusal

_LONGEST_DETAIL = 2000
#: Messages of native libraries that run out of memory without raising MemoryError.
_NO_MEMORY = (
    "memoryerror",
    "bad_alloc",
    "bad allocation",
    "cannot allocate memory",
    "failed to allocate memory",
)


def serve(requests: int, answers: int, greeting: dict[str, Any]) -> None:
    """Send ``greeting``, then answer calls one by one until end of input.

    A call is ``{"function": "package.module:function", "arguments": {...}}``; its answer is
    ``{"result": ...}`` or ``{"failure": {"outcome", "cause", "detail"}}``.
    """
    _send(answers, greeting)
    while (call := _receive(requests)) is not None:
        _send(answers, _answer(call))


def _answer(call: dict[str, Any]) -> list[bytes | memoryview] | dict[str, Any]:
    try:
        module, _, name = call["function"].partition(":")
        result = getattr(import_module(module), name)(**call["arguments"])
        # Encoded here, so that a result that cannot be encoded is a failure of this call.
        return wire.encode({"result": result})
    # Every exception is an answer, including SystemExit and KeyboardInterrupt.
    except BaseException as error:  # noqa: BLE001
        traceback.print_exc(file=sys.stderr)
        sys.stderr.flush()
        return {"failure": describe(error)}


def describe(error: BaseException) -> dict[str, str]:
    """Failure class, cause and message of an exception."""
    outcome, cause = classify(error)
    detail = str(error).strip() or type(error).__name__
    if not isinstance(error, Refusal):
        detail = f"{type(error).__name__}: {detail}"
    return {"outcome": outcome, "cause": cause, "detail": detail[:_LONGEST_DETAIL]}


def classify(error: BaseException) -> tuple[FailureClass, str]:
    """Failure class and cause of an exception: the machine's fault or the candidate's."""
    match error:
        case Refusal():
            return error.failure
        case MemoryError() | OSError(errno=errno.ENOMEM):
            return "crash", "memory"
        case ImportError():
            return "infrastructure", "unavailable"
        case OSError(errno=errno.ENOSPC | errno.EDQUOT):
            return "infrastructure", "disk"
        case OSError(errno=errno.EFBIG):
            return "crash", "file-size"
    return ("crash", "memory") if lacks_memory(str(error)) else ("invalid", "exception")


def lacks_memory(text: str) -> bool:
    """Whether a message reports a lack of memory."""
    text = text.lower()
    return any(phrase in text for phrase in _NO_MEMORY)


def _receive(requests: int) -> dict[str, Any] | None:
    decoder = wire.Decoder()
    while True:
        piece = os.read(requests, min(decoder.missing, 2**20))
        if not piece:
            return None
        if decoder.feed(piece):
            call: dict[str, Any] = decoder.value()
            return call


def _send(answers: int, message: list[bytes | memoryview] | dict[str, Any]) -> None:
    for piece in wire.encode(message) if isinstance(message, dict) else message:
        rest = memoryview(piece)
        while rest:
            rest = rest[os.write(answers, rest) :]
