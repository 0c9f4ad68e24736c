"""Where the methods of a client read a model from: its hub, or a model bundle."""

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from hpcfair import pid
from hpcfair.cache import Cache
from hpcfair.collective import Communicator, once
from hpcfair.config import Config
from hpcfair.modelbundle import oci
from hpcfair.modelbundle.answers import BundleTransport
from hpcfair.modelbundle.manifest import SUFFIX
from hpcfair.modelbundle.reader import ModelBundle
from hpcfair.transport import Transport


class Source(NamedTuple):
    """A model, and what answers requests on it.

    ``revision`` is ``None`` for the newest one of the default branch.
    """

    http: Transport
    cache: Cache
    name: str
    revision: str | None


class BundleCache(Cache):
    """The cache while a bundle is read. Blobs and documents are named by their digests; an answer
    is not, and must not be taken for one of the hub later."""

    def answer(self, key: str) -> Any:  # noqa: ARG002
        return None

    def keep_answer(self, key: str, answer: Any) -> None:
        pass


def is_bundle(name: str) -> bool:
    """Whether it is the path of a model bundle, or of its OCI image layout."""
    return name.endswith((SUFFIX, oci.SUFFIX))


def source_of(
    http: Transport,
    cache: Cache,
    name: str,
    revision: str | None = None,
    *,
    comm: Communicator | None = None,
) -> Source:
    """Verify and open a bundle, or resolve a name at the hub.

    Args:
        name: Path of a bundle, ``namespace/name``, or a persistent identifier.
        comm: Of ranks that do so at once: one of them asks the hub.

    Raises:
        Corrupt: the bundle was changed.
        NoModelFile, StorageFailed: the bundle does not exist, or cannot be read.
        NotFound, BadInput, HubUnreachable: as :func:`hpcfair.pid.locate`.
    """
    if not is_bundle(name):
        located = once(comm, lambda: pid.locate(http, cache, name, revision))
        return Source(http, cache, *located)
    bundle = ModelBundle(Path(name))
    connection = connection_of(http.config, bundle)
    return Source(connection, BundleCache(cache.root), bundle.name, revision or bundle.revision)


def connection_of(config: Config, bundle: ModelBundle) -> Transport:
    """What answers requests from a bundle."""
    # An empty object is no list of keys; the hub is not asked for one.
    keys = bundle.manifest["keys"] or {}
    own = replace(config, url=bundle.hub, token=None, offline=False, key_list=keys)
    return Transport(own, transport=BundleTransport(bundle))
