"""Files of a version: their descriptions, their directory id, and code that loads them."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from django.db.models import Q, Subquery

from registry.fair.addresses import RepositoryAddress
from registry.fair.card.card import LICENSE_FILES
from registry.fair.datatable import table_format
from registry.fair.files import media_type, role
from registry.fair.parts import FileDescription, NetworkDescription, TensorDescription
from registry.selectors.repository.contents import CONFIG_PATHS
from registry.selectors.results.datatable import Tables
from registry.selectors.results.testtensor import test_path
from registry.tables import Blob, File, Revision, TestTensor
from registry.tables.repository.file import valid_at
from registry.validation.labels import LIBRARY_FILES

#: Upper bound on the first files by path of a version that its description lists.
MAX_FILES = 200
#: Files that tell what a version is, listed wherever they are in the order of paths.
_TELLING = (
    *("README.md", ".gitattributes", "CITATION.cff", "samples.npz"),
    *("requirements.txt", "environment.yml", "model.onnx", "model.safetensors"),
    *(*LICENSE_FILES, *CONFIG_PATHS, *LIBRARY_FILES),
)


def listed_files(
    revisions: Collection[Revision], telling: Mapping[int, Collection[str]]
) -> dict[int, list[File]]:
    """Key of a revision to the files that its description lists, by path, with their blobs.

    All of them or, of more than :data:`MAX_FILES`, the first by path and those that tell what the
    version is: at most three queries, and a bounded number of rows for each revision.

    Args:
        telling: Key of a revision to paths that are listed whatever their position.
    """
    large = [one for one in revisions if one.file_count > MAX_FILES]
    small = {one.pk for one in revisions if one.file_count <= MAX_FILES}
    files: dict[int, list[File]] = {}
    rows = File.objects.of(small).select_related("blob").order_by("path")
    for row in rows:
        files.setdefault(row.revision_id, []).append(row)
    return files | _listed_of_large(large, telling)


def _listed_of_large(
    revisions: Collection[Revision], telling: Mapping[int, Collection[str]]
) -> dict[int, list[File]]:
    """The same of revisions with more files than are listed."""
    if not revisions:
        return {}
    last = _last_listed([one.pk for one in revisions])
    paths = {one.pk: {*_TELLING, *telling.get(one.pk, ())} for one in revisions}
    condition = Q(pk__in=[])
    for one in revisions:
        # Each an index lookup, which conditions on joined revisions would not be.
        listed = Q(path__lte=last.get(one.pk, "")) | Q(path__in=paths[one.pk])
        condition |= valid_at(one) & listed
    rows = list(File.objects.filter(condition).select_related("blob").order_by("path"))
    return {
        one.pk: [
            row
            for row in rows
            if row.series_id == one.series_id
            and row.first <= one.position < row.end
            and (row.path <= last.get(one.pk, "") or row.path in paths[one.pk])
        ]
        for one in revisions
    }


def _last_listed(keys: Collection[int]) -> dict[int, str]:
    """Key of a revision to the path of the last of its first :data:`MAX_FILES` files."""
    paths = File.objects.at_outer().order_by("path").values("path")
    last = Subquery(paths[MAX_FILES - 1 : MAX_FILES])
    rows = Revision.objects.filter(pk__in=keys).values_list("pk", last)
    return {key: path for key, path in rows if path is not None}


def describe_files(
    files: Sequence[File], address: RepositoryAddress, oid: str, tables: Tables
) -> tuple[FileDescription, ...]:
    """The files of the version ``oid``; the rows come with their blobs."""
    described = []
    for row in files:
        one = _describe(row.path, address.file(oid, row.path), row.blob)
        table = tables.get((row.blob_id, table_format(row.path) or ""))
        described.append(replace(one, table=table) if table and table.columns else one)
    return tuple(described)


def describe_tests(
    tests: Sequence[TestTensor], files: Sequence[File], address: RepositoryAddress, oid: str
) -> tuple[FileDescription, ...]:
    """The test tensors of the version ``oid``; published ones have the address of their file."""
    published = {(row.path, row.blob_id) for row in files}
    described = []
    for row in tests:
        path = test_path(row)
        is_published = (path, row.blob_id) in published
        url = address.file(oid, path) if is_published else address.test(oid, path)
        described.append(_describe(path, url, row.blob))
    return tuple(described)


def snippet_of(address: RepositoryAddress, oid: str, network: NetworkDescription | None) -> str:
    """Python that downloads the version, and runs it if it has an inspected network."""
    if address.kind == "model" and network is not None:
        return _run_snippet(address, oid, network)
    options = [f'"{address.repository}"', f'revision="{oid}"', f'endpoint="{address.hub}"']
    if address.kind == "dataset":
        options.insert(1, 'repo_type="dataset"')
    return (
        "from huggingface_hub import snapshot_download\n\n"
        f"folder = snapshot_download(\n    {', '.join(options)}\n)\n"
    )


def _describe(path: str, url: str, blob: Blob) -> FileDescription:
    return FileDescription(
        path=path,
        url=url,
        size_bytes=blob.size_bytes,
        sha256=blob.sha256,
        media_type=media_type(path),
        role=role(path),
    )


def _run_snippet(address: RepositoryAddress, oid: str, network: NetworkDescription) -> str:
    inputs = "".join(f"    {json.dumps(one.name)}: {_zeros(one)},\n" for one in network.inputs)
    return (
        "import hpcfair\n"
        "import numpy as np\n\n"
        f'hub = hpcfair.Client("{address.hub}")\n'
        f'model = hub.load("{address.repository}", revision="{oid}")\n'
        f"outputs = model({{\n{inputs}}})\n"
    )


def _zeros(tensor: TensorDescription) -> str:
    """Code of an array that fits ``tensor``; open dimensions have length 1."""
    shape = tuple(size if isinstance(size, int) else 1 for size in tensor.shape)
    if tensor.dtype == "string":
        return f"np.full({shape}, '', dtype=object)"
    return f'np.zeros({shape}, "{tensor.dtype}")'
