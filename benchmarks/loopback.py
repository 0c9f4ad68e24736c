"""The upper limit of downloads: one file, sent by ``sendfile(2)`` for every request.

``python -m benchmarks.loopback FILE`` prints its port and serves until it is killed.
"""

import os
import socket
import sys
from pathlib import Path


def main(path: str) -> None:
    """Answer one connection after the other."""
    size = Path(path).stat().st_size
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode()
    with socket.create_server(("127.0.0.1", 0)) as server, Path(path).open("rb") as file:
        print(server.getsockname()[1], flush=True)
        while True:
            client, _ = server.accept()
            with client:
                _serve(client, file.fileno(), head, size)


def _serve(client: socket.socket, file: int, head: bytes, size: int) -> None:
    while client.recv(65536):
        client.sendall(head)
        sent = 0
        while sent < size:
            sent += os.sendfile(client.fileno(), file, sent, size - sent)


if __name__ == "__main__":
    main(sys.argv[1])
