"""What inspection refuses."""


class InspectionError(Exception):
    """A fact about the files: asking again gives the same answer.

    Attributes:
        code: One of the codes ``registry.errors.CODES`` lists as found while inspecting.
        detail: One sentence saying what is wrong with which file.
        hint: One sentence saying what to do.
    """

    def __init__(self, code: str, detail: str, hint: str = "") -> None:
        # All three reach BaseException, so that the error survives pickling between processes.
        super().__init__(code, detail, hint)
        self.code = code
        self.detail = detail
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.detail} {self.hint}".strip()


def printable(text: str, limit: int = 400) -> str:
    """``text`` on one line without control characters, at most ``limit`` characters.

    Names come from a stranger's file and end in logs, pages and a database that stores no NUL.
    """
    line = "".join(char if char.isprintable() else " " for char in text)
    line = " ".join(line.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def invalid(shown: str, what: str) -> InspectionError:
    """``onnx_invalid``: the file called ``shown`` says something no ONNX model may say."""
    return InspectionError("onnx_invalid", f"{shown}: {printable(what)}", "Export the model again.")
