"""Files of a version: their descriptions, their directory id, and code that loads them."""

import json
from collections.abc import Collection, Sequence
from dataclasses import replace

from registry.fair.addresses import RepositoryAddress
from registry.fair.datatable import table_format
from registry.fair.files import media_type, role
from registry.fair.parts import FileDescription, NetworkDescription, TensorDescription
from registry.selectors.results.datatable import Tables
from registry.selectors.results.testtensor import test_path
from registry.storage.git import tree_oid
from registry.tables import Blob, File, Revision, TestTensor


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


def directory_oid(revision: Revision, files: Collection[File]) -> str:
    """Git tree id over the files' own bytes, as Software Heritage computes it of a download.

    It differs from the version's own tree where that has pointers in place of large files.
    ``files`` are all files of the revision, with their blobs.
    """
    if not any(file.is_lfs for file in files):
        return revision.tree_oid
    return tree_oid({file.path: file.blob.git_oid for file in files})


def directory_oids(revisions: Collection[Revision]) -> dict[int, str]:
    """Key of a revision to its :func:`directory_oid`; one query."""
    files: dict[int, list[File]] = {revision.pk: [] for revision in revisions}
    for row in File.objects.filter(revision__in=files).select_related("blob"):
        files[row.revision_id].append(row)
    return {revision.pk: directory_oid(revision, files[revision.pk]) for revision in revisions}


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
