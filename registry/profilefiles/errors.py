"""The refusal of a profile file."""


class ProfileFault(Exception):
    """The file is not a profile that can be believed.

    Attributes:
        detail: What is wrong, with a figure where there is one.
        hint: What to do about it; may be "".
    """

    def __init__(self, detail: str, hint: str = "") -> None:
        super().__init__(detail)
        self.detail, self.hint = detail, hint
