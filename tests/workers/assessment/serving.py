"""Records served by a site as the hub serves its own."""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace

from registry.fair import freeze, signposting
from registry.fair.description import Description
from registry.fair.formats import formats_of
from registry.fair.linked import jsonld, shape
from registry.fair.linked.turtle import turtle
from registry.fair.parts import FileDescription
from registry.fair.score.harvest import expected
from tests.registry.fair.samples import URL
from tests.workers.assessment.site import Reply, Site


def content(path: str) -> bytes:
    return f"what is in {path}\n".encode() * 7


def true(file: FileDescription) -> FileDescription:
    data = content(file.path)
    return replace(file, size_bytes=len(data), sha256=hashlib.sha256(data).hexdigest())


def served(site: Site, sample: Description) -> Description:
    """Let ``site`` serve ``sample`` as the hub serves its records; it as it is there."""
    moved = freeze.load(json.loads(json.dumps(freeze.dump(sample)).replace(URL, site.url)))
    made = replace(moved, doi=None, files=tuple(true(file) for file in moved.files))
    serve_record(site, made)
    for file in made.files:
        serve_file(site, made, file)
    return made


def serve_record(site: Site, made: Description) -> None:
    status = 410 if made.status == "withdrawn" else 200
    page = f"""<!doctype html><title>It</title><script type="application/ld+json">
        {jsonld.embedded(made)}</script><p>{"It sorts galaxies. " * 20}</p>"""
    header = signposting.header(signposting.of_landing(made))
    types = {one.media_type: one for one in formats_of(made.kind) if one.is_negotiated}

    def landing(headers: Mapping[str, str]) -> Reply:
        wanted = headers["Accept"]
        if wanted in types or wanted == signposting.LINKSET_TYPE:
            return Reply(status, b"{}", {"Content-Type": wanted})
        return Reply(status, page.encode(), {"Content-Type": "text/html", "Link": header})

    path = made.landing.removeprefix(site.url)
    for address in made.pages:
        site.answers[address.removeprefix(site.url)] = landing
    linkset = signposting.render_linkset(made)
    site.answers[made.linkset_url.removeprefix(site.url)] = Reply(
        status, linkset, {"Content-Type": signposting.LINKSET_TYPE}
    )
    for one in formats_of(made.kind):
        url = signposting.metadata_url(made, one)
        site.answers[url.removeprefix(site.url)] = Reply(headers={"Content-Type": one.media_type})
    for pid in (made.pid, made.concept_pid):
        site.answers[pid.removeprefix(site.url)] = Reply(302, headers={"Location": path})
    site.answers["/policy"] = Reply(headers={"Content-Type": "text/html"})
    for path, document in (
        ("/shapes/record", shape.document(made.hub)),
        ("/shapes/core", shape.core_document(made.hub)),
    ):
        site.answers[path] = Reply(body=turtle(document), headers={"Content-Type": "text/turtle"})
    for url in expected(made).own_sources:
        site.answers[url.removeprefix(site.url)] = Reply(headers={"Content-Type": "text/html"})


def serve_file(
    site: Site, made: Description, file: FileDescription, data: bytes | None = None
) -> None:
    if made.status == "withdrawn":
        site.answers[file.url.removeprefix(site.url)] = Reply(410)
        return
    digest = base64.b64encode(bytes.fromhex(file.sha256)).decode()
    parts = signposting.of_part(file.url, made.pages, made.linkset_url)
    headers = {
        "Content-Type": file.media_type,
        "Repr-Digest": f"sha-256=:{digest}:",
        "Link": signposting.header(parts),
    }
    body = content(file.path) if data is None else data
    site.answers[file.url.removeprefix(site.url)] = Reply(body=body, headers=headers)
