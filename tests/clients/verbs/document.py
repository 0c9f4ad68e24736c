"""``python -m tests.clients.verbs.document`` prints docs/huggingface-verbs.md."""

import sys
from dataclasses import replace
from itertools import groupby

from tests.clients.verbs.all import documented
from tests.clients.verbs.all_commands import documented_commands
from tests.clients.verbs.commands_absent import LOCAL
from tests.clients.verbs.table import Verb

_HEAD = """\
# Verbs of the Hugging Face client

What each public verb of `huggingface_hub` does on this hub: methods of `HfApi`, functions, classes
and `HfFileSystem`, and each command of `hf`. Written by `make docs-verbs` from the table in
`tests/clients/verbs`. Each line is called against a live hub, with the newest client, and verbs
with older releases too.

- **works**: as on the Hugging Face Hub, but for what the note says.
- **refused**: the hub does not offer the feature and says so by `BadRequestError` (400).
  Spaces and kernels are missing repositories: `RepositoryNotFoundError`.
- **elsewhere**: the client asks a service of Hugging Face, whatever `HF_ENDPOINT` says, and sends
  it the token of this hub. Do not call these.

Refusals have the classes that clients expect:

| situation | exception |
|---|---|
| repository missing, or private and not yours | `RepositoryNotFoundError` (404) |
| revision missing | `RevisionNotFoundError` (404) |
| file or folder missing | `EntryNotFoundError` (404) |
| gated file without access | `GatedRepoError` (403; 401 without a token) |
| no right to write | `HfHubHTTPError` (403; 401 without a token) |
| name, branch or tag in use | `HfHubHTTPError` (409), accepted with `exist_ok` |
| `parent_commit` is not the head | `HfHubHTTPError` (412) |
| malformed request | `BadRequestError` (400) |
| person, organisation, discussion, webhook missing | `HfHubHTTPError` (404) |
"""
_LOCAL = ", ".join(f"`{name}`" for name in sorted(LOCAL))
_COMMANDS = f"""\
## The `hf` command

Each command of the newest client, called against a live hub. Not called, since they concern the
client itself or its machine, or run DuckDB (`datasets sql`): {_LOCAL}.
"""


def document() -> str:
    """The page."""
    parts = [_HEAD]
    for area, verbs in groupby(documented(), lambda verb: verb.area):
        parts.append(f"## {area}\n\n| verb | result | note |\n|---|---|---|\n")
        parts[-1] += "".join(map(_row, verbs))
    parts.append(_COMMANDS)
    for area, verbs in groupby(documented_commands(), lambda verb: verb.area):
        parts.append(f"### {area}\n\n| command | result | note |\n|---|---|---|\n")
        parts[-1] += "".join(map(_row, map(_as_command, verbs)))
    return "\n".join(parts)


def _as_command(verb: Verb) -> Verb:
    return replace(verb, name=f"hf {verb.name}")


def _row(verb: Verb) -> str:
    version, instead = verb.before
    notes = [
        verb.note,
        f"Before {version}: {instead}." if version else "",
        "Older clients only." if verb.of_older else "",
    ]
    note = " ".join(filter(None, notes))
    return f"| `{verb.name}` | {verb.result.value} | {note} |\n"


if __name__ == "__main__":
    sys.stdout.write(document())
