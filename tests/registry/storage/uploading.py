"""What an uploader does until it is killed; runs in a forked child of the helper."""

import io
import os
import random
from datetime import timedelta

from registry.errors import RegistryError
from registry.services.repository.revision import Add, Delete, commit
from registry.services.storage.blob import blob_store, blobs_store
from registry.services.storage.gc import gc
from registry.services.storage.parts import part_store, parts_begin, parts_join
from registry.storage.digest import sha256_of
from registry.tables import MLModel

# What may rightly be refused: somebody was faster, or a collection without grace took bytes
# between their upload and the commit that names them.
_FINE = {"stale_parent", "nothing_to_commit", "blob_missing", "file_not_found", "blob_not_found"}


def upload_on(log: str, *, seed: int) -> None:
    """Upload, commit and collect until killed, noting in ``log`` what was promised."""
    chance = random.Random(seed)  # noqa: S311 (it only makes data)
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND)
    mlmodels = list(MLModel.objects.select_related("namespace").order_by("pk"))
    turn = 0
    while True:
        turn += 1
        try:
            if chance.random() < 0.1:
                gc(grace=timedelta(0))
            else:
                _commit(descriptor, chance, chance.choice(mlmodels), f"{seed}-{turn}")
        except RegistryError as error:
            if error.code not in _FINE:
                raise


def _commit(log: int, chance: random.Random, mlmodel: MLModel, message: str) -> None:
    operations: list[Add | Delete] = [
        Add(f"folder/{chance.randrange(6)}.bin", _upload(chance)) for _ in range(1)
    ]
    operations.append(Add(f"{chance.randrange(6)}.txt", _upload(chance)))
    if chance.random() < 0.2:
        operations.append(Delete(f"other/{chance.randrange(6)}.txt"))
    elif chance.random() < 0.5:
        operations.append(Add(f"other/{chance.randrange(6)}.txt", _upload(chance)))
    if chance.random() < 0.3:
        operations += _upload_together(chance)
    _note(log, f"try {message}")
    revision = commit(
        actor=None,
        mlmodel=mlmodel,
        message=message,
        operations=operations,
        is_checked=False,
    )
    files = [f"{file.path}={file.blob_id}" for file in revision.files.all()]
    _note(log, f"told {mlmodel.pk} {revision.oid} {' '.join(files)}")


def _upload(chance: random.Random) -> str:
    # Now and then what others upload as well, so that collections and uploads meet.
    common = chance.random() < 0.3
    source = random.Random(chance.randrange(4)) if common else chance  # noqa: S311
    data = source.randbytes(source.choice((100, 5_000, 200_000, 1_500_000)))
    if chance.random() < 0.8:
        return blob_store(actor=None, stream=io.BytesIO(data), size_bytes=len(data)).sha256
    upload = parts_begin(actor=None, size_bytes=len(data))
    etags = {}
    for number in range(1, upload.count + 1):
        start = (number - 1) * upload.part_bytes
        piece = io.BytesIO(data[start : start + upload.part_bytes])
        etags[number] = part_store(upload=upload, number=number, stream=piece)
    sha256 = sha256_of(io.BytesIO(data))
    return parts_join(actor=None, upload=upload, etags=etags, sha256=sha256).sha256


def _upload_together(chance: random.Random) -> list[Add]:
    some = [chance.randbytes(chance.choice((10, 3_000))) for _ in range(chance.randrange(2, 20))]
    with blobs_store(actor=None) as take:
        digests = [take(io.BytesIO(data), len(data)) for data in some]
    return [Add(f"many/{number}.txt", sha256) for number, sha256 in enumerate(digests)]


def _note(log: int, line: str) -> None:
    os.write(log, f"{line}\n".encode())
    os.fsync(log)
