"""Why a folder is not converted."""

import re

from hpcfair.isolation.child_serve import lacks_memory


class ConversionError(Exception):
    """A folder cannot be converted.

    Attributes:
        code: One of ``registry.errors.CODES``.
        detail: What is wrong, for the owner of the model.
        hint: What the owner can do.
    """

    def __init__(self, code: str, detail: str, hint: str = "") -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.hint = hint


def lacks_library(library: str, what: str = "") -> ConversionError:
    """The refusal of a model whose parts belong to another library.

    Args:
        what: A sentence on the model, with a space behind it.
    """
    return ConversionError(
        "not_convertible",
        f"{what}It needs the library {library} besides transformers, which the hub's converter "
        "does not have.",
        f"Save it where {library} is installed: hpcfair.save takes the loaded model, exports and "
        "checks it.",
    )


def raise_lack_of_memory(error: BaseException) -> None:
    """Raise MemoryError if this exception of a library stands for one."""
    if isinstance(error, MemoryError) or lacks_memory(str(error)):
        raise MemoryError(str(error)) from error


_LONGEST = 600
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
#: Where messages of PyTorch go on with the graph, or with advice for its developers.
_BEYOND_REASON = re.compile(
    r"\n\s*(While executing|Next steps|Original traceback|The error above|For more information)"
)
#: PyTorch's errors for sizes or branches that depend on numbers, which no graph of operators has.
_DATA_DEPENDENT = ("GuardOnDataDependentSymNode", "DataDependentOutputException")


def shortened(error: BaseException) -> str:
    """The first cause of an exception of a library, in one line without a full stop."""
    while error.__cause__ is not None:
        error = error.__cause__
    if type(error).__name__ in _DATA_DEPENDENT:
        return (
            "sizes or branches inside it depend on the values of its inputs, which no exported "
            "graph of operators can express"
        )
    reason = _BEYOND_REASON.split(_COLOURS.sub("", str(error)))[0]
    text = " ".join(f"{type(error).__name__}: {reason}".split()).rstrip(".")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
