"""What surrounds a version: the hardware it was tuned on, the energy it takes, its inspection."""

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy:
    """What one run takes, as a counter of the machine saw it.

    Attributes:
        method: ``measured`` or ``estimated``.
        source: The counter, or the model of an estimate: ``rapl-package``.
    """

    joules: float
    method: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """A kind of hardware that searches were made on.

    Attributes:
        slug: Name of the target.
        url: Its page.
        facts: What the machines measured on were: processor, cores, memory and the like.
    """

    slug: str
    url: str
    facts: dict[str, str | float | bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What the newest inspection found of the safety of the files.

    Attributes:
        is_accepted: Whether the hub runs the network; else ``findings`` say why not.
        findings: What is wrong or odd, a sentence each; none where nothing is.
        url: The page of the inspection.
    """

    is_accepted: bool
    at: datetime
    url: str
    findings: tuple[str, ...] = ()
