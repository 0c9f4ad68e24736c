"""The client of one hub: all operations as methods."""

from hpcfair.methods.analysis import AnalysisMethods
from hpcfair.methods.bundles import BundleMethods
from hpcfair.methods.repository import RepositoryMethods
from hpcfair.methods.results import ResultMethods
from hpcfair.methods.work import WorkMethods


class Client(RepositoryMethods, ResultMethods, WorkMethods, AnalysisMethods, BundleMethods):
    """A hub, accessed with one account. Thread-safe.

    Args:
        url: Address of the hub; default: ``HPCFAIR_URL``, else the hub of ``hpcfair login``.
        token: Access token; default: ``HPCFAIR_TOKEN``, else the one stored by ``hpcfair login``.
        config: All settings at once; excludes ``url`` and ``token``.
        transport: Replaces the network in tests.

    Every method raises :class:`hpcfair.errors.HubError` if the hub rejects the request and
    :class:`hpcfair.errors.HubUnreachable` if it does not answer.
    """
