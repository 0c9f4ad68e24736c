"""Publishes a model: export, card, upload, commit, inspection."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypedDict

from hpcfair import card as cards
from hpcfair.composition import Composition
from hpcfair.errors import BadCard, NotFound, NothingToCommit, RevisionNotFound
from hpcfair.exporters.base import Examples, Files
from hpcfair.exporters.environment import script_origin
from hpcfair.exporters.registry import export
from hpcfair.job import job
from hpcfair.localfiles import local_files
from hpcfair.mlmodel import address, ensure, info
from hpcfair.paths import checked_name
from hpcfair.precheck import check_files
from hpcfair.revision import branch_make, commit, revision
from hpcfair.runtimes.base import Array
from hpcfair.samples import add_samples, as_examples
from hpcfair.transport import Transport
from hpcfair.types import Revision
from hpcfair.typingnames import Unpack
from hpcfair.upload import upload

README = "README.md"


class Publication(TypedDict, total=False):
    """Options of publishing; see :meth:`hpcfair.Client.save`."""

    card: Mapping[str, Any] | None
    message: str
    branch: str
    visibility: str
    wait: bool
    timeout_s: float | None


def save(
    http: Transport,
    model: Any,
    name: str,
    *,
    example_inputs: Examples | Array = None,
    labels: Array | None = None,
    **how: Unpack[Publication],
) -> Revision:
    """Publish a model; see :meth:`hpcfair.Client.save`."""
    for unknown in how.keys() - Publication.__annotations__.keys():
        raise TypeError(
            f"save() has no argument {unknown!r}: a field of the card is passed as "
            f"card={{{unknown!r}: ...}}"
        )
    checked_name(name)
    if isinstance(model, Composition):
        how["card"] = {**model.lineage, **(how.get("card") or {})}
        model = model.model
    examples = as_examples(example_inputs)
    with local_files(None, "TMPDIR"), TemporaryDirectory(prefix="hpcfair-") as folder:
        scratch = Path(folder)
        exported = export(model, examples, scratch)
        files = add_samples(exported.files, exported.examples, labels, scratch)
        if origin := script_origin():
            how["message"] = f"{_message(name, how)}\n\n{origin}"
        return publish(http, name, files, scratch, **how)


def publish(
    http: Transport, name: str, files: Files, scratch: Path, **how: Unpack[Publication]
) -> Revision:
    """Check ``files``, commit them with their card, and wait for the inspection. ``scratch``: a
    folder for the card."""
    branch = how.get("branch", "main")
    if README in files:
        readme: str | None = _text(files[README].read_bytes())
    else:
        readme = _current_readme(http, name, branch)
    text = cards.merge(readme, how.get("card"), name=name)
    cards.require_license(text)
    check_files(files)
    local = scratch / "card.md"
    local.write_text(text, "utf-8", newline="")
    digests = upload(http, {**files, README: local}, what=name)
    ensure(http, name, visibility=how.get("visibility"))
    try:
        saved = _commit(http, name, digests, _message(name, how), branch)
    except NothingToCommit:
        return revision(http, name, branch)
    if how.get("wait", True):
        for uuid in saved.job_uuids:
            job(http, uuid).wait(how.get("timeout_s"))
    return saved


def _message(name: str, how: Publication) -> str:
    return how.get("message") or f"Save {name.partition('/')[2]}"


def _text(readme: bytes) -> str:
    try:
        return readme.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadCard(f"{README} is not in UTF-8: {error}.", "Save it as UTF-8.") from error


def _commit(
    http: Transport, name: str, digests: dict[str, str], message: str, branch: str
) -> Revision:
    """Commit to a branch, which is created from the default branch if it does not exist."""
    try:
        return commit(http, name, add=digests, message=message, branch=branch)
    except RevisionNotFound:
        branch_make(http, name, branch, info(http, name).default_branch)
        return commit(http, name, add=digests, message=message, branch=branch)


def _current_readme(http: Transport, name: str, branch: str) -> str | None:
    """The card of a branch; of one that does not exist, that of the default branch, from which it
    is created."""
    place = f"{address(name)}/files/{README}"
    try:
        try:
            return _read(http, place, params={"revision": branch})
        except RevisionNotFound:
            return _read(http, place)
    except NotFound:
        return None


def _read(http: Transport, place: str, **how: Any) -> str:
    with http.open("GET", place, **how) as answer:
        return _text(answer.read())
