"""Loading by all ranks of a parallel job at once: one rank asks and reads, the others receive.

Every function here is collective: all ranks call it, and all return or all raise. An error of one
rank is raised by all, because ranks that wait for a failed one would wait for ever.
"""

import pickle
import platform
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, TypeVar

from hpcfair.cache import Cache
from hpcfair.errors import Corrupt, HpcfairError
from hpcfair.filesystem import BLOCK_BYTES
from hpcfair.intake import Intake
from hpcfair.localfiles import local_files, storage_failed
from hpcfair.paths import safe_join
from hpcfair.progress import transferring
from hpcfair.tree import find_tree, make_tree
from hpcfair.types import File

T = TypeVar("T")


class Communicator(Protocol):
    """The methods of a communicator of mpi4py that are used. Objects are any that can be pickled,
    so that an adapter for other libraries has a few lines."""

    def Get_rank(self) -> int:  # noqa: N802 - named as in MPI
        """Number of this rank, from 0."""
        ...

    def bcast(self, obj: Any, root: int = 0) -> Any:
        """The object of the rank ``root``, on all ranks."""
        ...

    def allgather(self, obj: Any, /) -> list[Any]:
        """The objects of all ranks in their order, on all ranks."""
        ...


def once(comm: Communicator | None, act: Callable[[], T]) -> T:
    """What ``act`` returns on rank 0, on all ranks; raises what it raises there. Without a
    communicator, it is just called."""
    if comm is None:
        return act()
    outcome: tuple[Any, Exception | None] = (None, None)
    if comm.Get_rank() == 0:
        try:
            outcome = (act(), None)
        # Whatever it is, the others wait for it.
        except Exception as error:  # noqa: BLE001
            outcome = (None, _portable(error))
    result: T
    result, failure = comm.bcast(outcome)
    if failure:
        raise failure
    return result


def share_tree(comm: Communicator, cache: Cache, files: Sequence[File], *, what: str) -> Path:
    """The folder with ``files`` on every rank; rank 0 has it in its cache.

    Ranks that see the files there, on a shared file system, read them. To the others, rank 0 sends
    them: one rank of each node writes them into its cache; then each rank that still has none. All
    ranks verify all digests.

    Raises:
        Corrupt: the files of rank 0 are damaged, or a rank cannot read what was written.
        StorageFailed: a rank cannot write.
    """
    rank, here = comm.Get_rank(), (platform.node(), str(cache.root))
    folder = _find(cache, files)
    for group in (here, (*here, rank)):
        missing = comm.allgather(None if folder else group)
        if not any(missing) or missing[0]:
            break
        is_writer = folder is None and missing.index(group) == rank
        store = _store(cache, files, what) if is_writer else None
        _spread(comm, cache, files, folder if rank == 0 else None, store)
        folder = folder or _find(cache, files)
    else:
        missing = comm.allgather(None if folder else here)
    if folder is None or any(missing):
        raise Corrupt(f"A rank cannot read the files of {what}.", "Delete the caches of its node.")
    return folder


def _spread(
    comm: Communicator,
    cache: Cache,
    files: Sequence[File],
    source: Path | None,
    store: Generator[None, bytes | None, None] | None,
) -> None:
    """Send the files in the folder ``source`` of rank 0 to all ranks; some store them."""
    failure: Exception | None = None
    for block in chain([None], _blocks(comm, files, source)):
        if store is None or failure:
            continue
        try:
            with local_files(cache.root, "HPCFAIR_CACHE"):
                store.send(block)
        except StopIteration:
            store = None
        # The others are waiting for this rank.
        except Exception as error:  # noqa: BLE001
            failure = _portable(error)
    failures = comm.allgather(failure)
    if first := next(filter(None, failures), None):
        raise first


def _blocks(comm: Communicator, files: Sequence[File], source: Path | None) -> Iterator[bytes]:
    """The blocks of all files, an empty one after each, on all ranks."""
    for file in files:
        blocks = _read(safe_join(source, file.path)) if source else iter(())
        while True:
            block = comm.bcast(next(blocks, b""))
            if isinstance(block, Exception):
                raise block
            yield block
            if not block:
                break


def _read(path: Path) -> Iterator[bytes | Exception]:
    try:
        with path.open("rb", buffering=0) as file:
            while block := file.read(BLOCK_BYTES):
                yield block
    except OSError as error:
        yield storage_failed(error, str(path))


def _store(cache: Cache, files: Sequence[File], what: str) -> Generator[None, bytes | None, None]:
    """Receives the blocks of all files, an empty one after each, and makes their folder."""
    with transferring(what, sum(file.size_bytes for file in files)) as meter:
        for file in files:
            part = cache.partials.start(file.sha256)
            try:
                with Intake(part, meter) as intake:
                    intake.restart()
                    while block := (yield):
                        intake.write(block)
                    digest = intake.sha256()
            except BaseException:
                part.unlink(missing_ok=True)
                raise
            if digest != file.sha256:
                part.unlink()
                raise Corrupt(f"The bytes received for {file.path} have another digest.")
            cache.keep_blob(part, file.sha256)
    make_tree(cache, files, what=what, verified={file.sha256 for file in files})


def _find(cache: Cache, files: Sequence[File]) -> Path | None:
    try:
        return find_tree(cache, files, thorough=True)
    except OSError:
        return None


def _portable(error: Exception) -> Exception:
    """``error``, or another one with its message, if it cannot be sent to other ranks."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - made just now
    except Exception:  # noqa: BLE001
        return HpcfairError(f"{type(error).__name__}: {error}")
    return error
