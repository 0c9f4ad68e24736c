"""Names of models on servers of the Hugging Face Hub's protocol.

::

    hf:org/name                 on the server of HF_ENDPOINT, else https://huggingface.co
    hf:org/name@v1              a branch, tag or commit
    hf:https://host/org/name    on another server, such as another hub
"""

import re
from dataclasses import dataclass

from hpcfair.config import Config, clean_url
from hpcfair.errors import BadInput

_PREFIX = "hf:"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")


@dataclass(frozen=True, slots=True)
class ModelOrigin:
    """A model on a server.

    Attributes:
        server: Address of the server.
        name: ``org/name``.
        revision: Branch, tag or commit id; ``None`` for the default branch.
    """

    server: str
    name: str
    revision: str | None = None

    @property
    def url(self) -> str:
        """Address of the model's page."""
        return f"{self.server}/{self.name}"

    def __str__(self) -> str:
        return f"{_PREFIX}{self.url}" + (f"@{self.revision}" if self.revision else "")


def is_origin(text: str) -> bool:
    """Whether ``text`` names a model on another server."""
    return text.startswith(_PREFIX)


def origin_of(text: str, config: Config, revision: str | None = None) -> ModelOrigin:
    """The model that ``text`` names.

    Args:
        revision: Branch, tag or commit id, if ``text`` has none after ``@``.

    Raises:
        BadInput: it has another form, or names another revision than ``revision``.
        BadConfig: the address of the server cannot be used.
    """
    body, _, named = text.removeprefix(_PREFIX).partition("@")
    server, name = config.hf_endpoint, body
    if "://" in body:
        parts = clean_url(body).rsplit("/", 2)
        server, name = parts[0], "/".join(parts[1:])
    if not is_origin(text) or not _NAME.fullmatch(name) or server.endswith(("/", ":")):
        raise BadInput(
            f"{text!r} is not the name of a model on another server.",
            "Write hf:org/name, hf:org/name@revision or hf:https://host/org/name.",
        )
    if named and revision and named != revision:
        raise BadInput(f"{text} names another revision than {revision!r}.", "Name only one.")
    return ModelOrigin(server, name, named or revision or None)
