"""Parsed topologies in the memory of a process.

Topologies are named by the digest of their bytes, so an entry never goes stale. Nothing here knows
who may see a topology: callers check the access before they ask for one.
"""

import gzip
import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import cached_property
from threading import Lock
from typing import Any

from registry.kernels.networkwork import NetworkWork
from registry.selectors.analysis.compacttopology import compact_topology

#: JSON that is kept parsed in a process; as objects it takes about eight times as much memory.
MOST_BYTES = 8 * 2**20


class ParsedTopology:
    """A document of schema ``hpcfair.topology/1``, and what readers derive from it.

    Requests share it: nobody changes the document.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document

    @cached_property
    def compact_gzipped(self) -> bytes:
        """Gzipped JSON of :func:`compact_topology`, for browsers."""
        text = json.dumps(compact_topology(self.document), separators=(",", ":"))
        return gzip.compress(text.encode(), mtime=0)

    @cached_property
    def work(self) -> NetworkWork:
        """Work of the nodes."""
        return NetworkWork(self.document)


class TopologyCache:
    """The topologies that were used last, within a bound on the bytes of their JSON.

    Threads may use it. Two that ask for the same new topology both parse it.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._entries: OrderedDict[str, tuple[ParsedTopology, int]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    @property
    def size_bytes(self) -> int:
        """Bytes of JSON of the entries."""
        return self._bytes

    def get(self, digest: str, read: Callable[[], bytes]) -> ParsedTopology:
        """The topology of that digest; ``read`` returns its gzipped JSON."""
        with self._lock:
            if digest in self._entries:
                self._entries.move_to_end(digest)
                return self._entries[digest][0]
        text = gzip.decompress(read())
        topology = ParsedTopology(json.loads(text))
        self._add(digest, topology, len(text))
        return topology

    def _add(self, digest: str, topology: ParsedTopology, size_bytes: int) -> None:
        with self._lock:
            if digest in self._entries or size_bytes > self._most_bytes:
                return
            self._entries[digest] = topology, size_bytes
            self._bytes += size_bytes
            while self._bytes > self._most_bytes:
                _, (_, dropped) = self._entries.popitem(last=False)
                self._bytes -= dropped
