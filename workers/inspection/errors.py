"""Errors of inspection."""


class InspectionError(Exception):
    """The files cannot be used; repeating the inspection fails in the same way.

    Attributes:
        code: One of the codes that ``registry.errors.CODES`` lists for inspection.
        detail: The file and its defect, in one sentence.
        hint: The remedy, in one sentence.
    """

    def __init__(self, code: str, detail: str, hint: str = "") -> None:
        # BaseException gets all three, so that the error survives pickling between processes.
        super().__init__(code, detail, hint)
        self.code = code
        self.detail = detail
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.detail} {self.hint}".strip()


def printable(text: str, limit: int = 400) -> str:
    """``text`` (untrusted) on one line without control characters, at most ``limit`` characters."""
    line = "".join(char if char.isprintable() else " " for char in text)
    line = " ".join(line.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def invalid(shown: str, what: str) -> InspectionError:
    """The error ``onnx_invalid`` for the file ``shown``, which violates the ONNX specification."""
    return InspectionError("onnx_invalid", f"{shown}: {printable(what)}", "Export the model again.")
