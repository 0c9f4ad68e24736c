"""The table of verbs: name, result, a sentence for the documentation, and a call that proves it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from tests.clients.verbs.context import Context

Call = Callable[[Context], None]


class Result(Enum):
    """What a verb does on this hub."""

    WORKS = "works"
    #: The hub says that it does not offer the feature.
    REFUSED = "refused"
    #: The client asks an address of huggingface.co, whatever ``HF_ENDPOINT`` says.
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb of the client.

    Attributes:
        name: Method of ``HfApi``, ``Class.method``, function, or ``hf`` command.
        area: Heading in the documentation.
        note: What it does here, a sentence.
        call: Calls it against a live hub, and raises if the answer is not the one that is expected.
        of_older: The newest client no longer has it.
        before: Version of the client, and what earlier ones do instead; they are not called.
    """

    name: str
    area: str
    result: Result
    note: str
    call: Call
    of_older: bool = False
    before: tuple[str, str] = ("", "")


#: All verbs in the order of the documentation.
TABLE: dict[str, Verb] = {}


def works(
    name: str,
    area: str,
    note: str,
    *,
    of_older: bool = False,
    before: tuple[str, str] = ("", ""),
) -> Callable[[Call], Call]:
    """Decorator that enters ``name`` with the decorated call as one that works."""

    def enter(call: Call) -> Call:
        add(Verb(name, area, Result.WORKS, note, call, of_older, before))
        return call

    return enter


def add(verb: Verb) -> None:
    """Enter ``verb``.

    Raises:
        ValueError: its name is in the table.
    """
    if verb.name in TABLE:
        raise ValueError(f"{verb.name} is in the table twice.")
    TABLE[verb.name] = verb
