"""Every verb of the stock client against a live hub; see :mod:`tests.clients.verbs`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from registry.tables import Namespace, User
from tests.clients.environments import CLIENTS
from tests.clients.verbs.all import missing
from tests.clients.verbs.all_commands import missing_commands
from tests.clients.verbs.document import document
from tests.factories import make_token
from tests.programs import needs

ROOT = Path(__file__).resolve().parents[2]
WHAT = ("verbs", "refusals")


@pytest.fixture
def as_people(as_alice: dict[str, str], bob: User, charlie: User, lab: Namespace) -> dict[str, str]:
    """The environment of alice, with the tokens of bob and of charlie, the admin of ``lab``."""
    tokens = {"BOB_TOKEN": make_token(bob), "CHARLIE_TOKEN": make_token(charlie)}
    return as_alice | tokens | {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}


def call(python: Path, what: str, folder: Path, environment: dict[str, str]) -> None:
    """Call the verbs or commands, or provoke the refusals, with the client of ``python``."""
    folder.mkdir()
    module = ".all_commands" if what == "commands" else ""
    arguments = [str(folder)] if what == "commands" else [str(folder), what]
    done = subprocess.run(
        [str(python), "-m", f"tests.clients.verbs{module}", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    failures = json.loads(done.stdout.splitlines()[-1])
    assert not failures, "\n".join(f"{name}: {text}" for name, text in failures.items())


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("what", [*WHAT, "commands"])
def test_the_newest_client_has_its_answers(
    what: str, as_people: dict[str, str], tmp_path: Path
) -> None:
    call(Path(sys.executable), what, tmp_path / "work", as_people)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("version", "what"),
    [
        *(("hub-0.36", what) for what in WHAT),
        ("hub-1.33", "refusals"),
        pytest.param("hub-1.33", "verbs", marks=needs("clients")),
        *(pytest.param("hub-1.19", what, marks=needs("clients")) for what in WHAT),
    ],
)
def test_older_clients_have_their_answers(
    version: str, what: str, as_people: dict[str, str], tmp_path: Path
) -> None:
    call(CLIENTS.python_of(version), what, tmp_path / "work", as_people)


def test_the_table_has_every_verb_of_the_newest_client() -> None:
    assert not missing(), "say in tests/clients/verbs what each of these does on this hub"


def test_the_table_has_every_command_of_the_newest_client() -> None:
    assert not missing_commands(), "say in tests/clients/verbs what each of these does on this hub"


def test_the_page_is_written_from_the_table() -> None:
    page = ROOT / "docs/huggingface-verbs.md"
    assert page.read_text() == document(), "run: make docs-verbs"
