"""What tests are made of: people, bytes, cards, MLModels. All of it goes through the services.

``alice`` and ``bob`` are two people who share nothing; ``charlie`` is the admin of the
organisation ``lab``. ``tests/conftest.py`` has them as fixtures.
"""

import io
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import onnx
import yaml
from django.db import connection
from onnx import TensorProto, helper

from registry.selectors.people.account import user_find
from registry.selectors.repository.mlmodel import repository_get
from registry.services.people.account import user_create
from registry.services.people.token import token_issue
from registry.services.repository.mlmodel import mlmodel_create
from registry.services.repository.revision import Add, Delete, commit
from registry.services.storage.blob import blob_store
from registry.states import RepositoryKind, Scope
from registry.tables import Blob, File, FileSeries, MLModel, Namespace, Revision, User

PASSWORD = "a phrase that nobody else uses"


def make_user(username: str, **columns: Any) -> User:
    """A person with the password :data:`PASSWORD` and the mail address ``<name>@example.org``."""
    given = {"password": PASSWORD, "email": f"{username}@example.org"} | columns
    return user_create(username=username, **given)


def make_token(
    user: User, scope: Scope = Scope.WRITE, *, namespace: Namespace | None = None
) -> str:
    """The secret of a new token."""
    return token_issue(actor=user, name=f"{scope} token", scope=scope, namespace=namespace)[1]


def store(data: bytes, actor: User | None = None) -> Blob:
    """Bytes, uploaded by ``actor``."""
    return blob_store(actor=actor, stream=io.BytesIO(data), size_bytes=len(data))


def make_mlmodel(
    full_name: str,
    *,
    actor: User | None = None,
    visibility: str = "public",
    files: Mapping[str, bytes | str] | None = None,
    kind: RepositoryKind = RepositoryKind.MODEL,
) -> MLModel:
    """``namespace/name``; with ``files``, a second revision holds them.

    Args:
        actor: Its owner; by default the hub itself, which may everything.
    """
    namespace, name = full_name.split("/")
    mlmodel = mlmodel_create(
        actor=actor, namespace=namespace, name=name, visibility=visibility, kind=kind
    )
    if files:
        commit_files(mlmodel, files, actor=actor)
    # Read again, as a request would: nothing rests on what the services left in the object.
    return repository_get(None, kind, full_name)


def commit_files(
    mlmodel: MLModel,
    files: Mapping[str, bytes | str | None],
    *,
    actor: User | None = None,
    message: str = "Change files",
    **options: Any,
) -> Revision:
    """Put each path's content, or delete it where that is ``None``; no license is asked for."""
    operations = [
        Delete(path) if content is None else Add(path, store(_bytes(content), actor).sha256)
        for path, content in files.items()
    ]
    given = {"is_checked": False} | options
    return commit(actor=actor, mlmodel=mlmodel, message=message, operations=operations, **given)


def revision_row(mlmodel: MLModel, **columns: Any) -> Revision:
    """A revision without files, written as a row; it is in no branch."""
    given = {"created_at": mlmodel.created_at} | columns
    series = FileSeries.objects.create(mlmodel=mlmodel, length=1)
    return Revision.objects.create(mlmodel=mlmodel, series=series, position=0, **given)


def file_row(revision: Revision, path: str, blob: Blob, **columns: Any) -> File:
    """A file of a revision and of later ones in its series, written as a row."""
    given = {"oid": blob.git_oid, "is_lfs": False, "changed_in": revision} | columns
    return File.objects.create(
        series_id=revision.series_id, first=revision.position, path=path, blob=blob, **given
    )


def readme(text: str = "# A model\n\nIt tells galaxies apart.\n", **card: Any) -> str:
    """A README.md with ``card`` as front matter; licensed, unless ``license=None``."""
    values = {"license": "apache-2.0"} | card
    matter = yaml.safe_dump(
        {key: value for key, value in values.items() if value is not None}, allow_unicode=True
    )
    return f"---\n{matter}---\n{text}"


def tiny_onnx(*, features: int = 4, classes: int = 3, scale: float = 0.5) -> bytes:
    """A valid network of one matrix product: ``float32[N,features] -> float32[N,classes]``."""
    weight = helper.make_tensor(
        "weight", TensorProto.FLOAT, [features, classes], [scale] * (features * classes)
    )
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "weight"], ["y"])],
        "tiny",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", features])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", classes])],
        [weight],
    )
    network = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(network)
    return bytes(network.SerializeToString())


def member(username: str) -> User:
    """The person of that name, read anew: without a token, with fresh columns."""
    user = user_find(username)
    assert user is not None
    return user


def database_url() -> str:
    """The address of the database this test uses, for the environment of a child process."""
    name = str(connection.settings_dict["NAME"])
    if connection.vendor == "sqlite":
        return f"sqlite:///{name}"
    options = connection.settings_dict["OPTIONS"]
    user, host = connection.settings_dict["USER"], options.get("host", "")
    if host:
        return f"postgresql://{user}:@/{name}?host={quote(host, safe='/')}"
    settings = connection.settings_dict
    credentials = f"{user}:{quote(settings['PASSWORD'], safe='')}"
    return f"postgresql://{credentials}@{settings['HOST']}:{settings['PORT'] or 5432}/{name}"


def _bytes(content: bytes | str) -> bytes:
    return content.encode() if isinstance(content, str) else content
