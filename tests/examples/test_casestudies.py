"""The networks behind the manual's case studies."""

from itertools import chain

from examples.casestudies import STUDIES
from examples.models.catalogue import MAKERS


def test_every_network_of_a_study_can_be_made() -> None:
    networks = list(chain.from_iterable(STUDIES.values()))
    assert set(networks) <= set(MAKERS)
    # Each is published once: tags of revisions are the names of networks.
    assert len(networks) == len(set(networks))
