"""Ports of this machine for servers that other programs open."""

import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager


@contextmanager
def reserved_ports(count: int) -> Iterator[list[int]]:
    """``count`` free ports of 127.0.0.1, which nobody else gets while the block lasts.

    A port that is looked up and let go may be handed out again before the program that is started
    meanwhile opens it. On Linux a port stays out of that lottery as long as a socket is bound to
    it, and a server that sets SO_REUSEADDR, as nginx, gunicorn and programs in Go do, may listen
    there nevertheless. Other systems would refuse the server, so the socket is closed first.
    """
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", 0))
        ports = [int(probe.getsockname()[1]) for probe in probes]
        if sys.platform != "linux":
            stack.close()
        yield ports
