"""All that tells of what was done with one version."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from registry.fair.addresses import RepositoryAddress
from registry.fair.parts import Agent, DatasetUse, DerivationDescription, Emissions
from registry.selectors.fair.description.built import Built
from registry.selectors.fair.description.naming import Names
from registry.selectors.fair.description.past import Circumstances, Past
from registry.tables import Record, Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What is known of a version that something was done with.

    Attributes:
        revision: With its MLModel and namespace.
        sources: What it was made from, as records name it.
        datasets: What it was made with.
        people: Key of a user to the agent.
        repeaters: Id of a record that a person added to the key of that person.
        tests: Addresses of the test tensors that the hub made.
        urls: Path of a file of the version to its address.
        digests: SHA-256 of such a file to its address.
    """

    revision: Revision
    place: RepositoryAddress
    names: Names
    sources: Sequence[DerivationDescription]
    people: Mapping[int | None, Agent]
    builds: Sequence[Built]
    datasets: Sequence[DatasetUse] = ()
    emissions: Emissions | None = None
    past: Past = field(default_factory=Past)
    circumstances: Circumstances = field(default_factory=Circumstances)
    repeaters: Mapping[str, int] = field(default_factory=dict)
    tests: Sequence[str] = ()
    urls: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)

    @property
    def records(self) -> dict[str, Record]:
        """By id: those of builds, and the newest of the others."""
        of_builds = {built.row.record_id: built.row.record for built in self.builds}
        return of_builds | {record.pk: record for record in self.past.records}
