"""docs/settings.md documents every environment variable, as the code reads it."""

import re
from io import StringIO
from pathlib import Path

from django.core.management import call_command

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "settings.md"
PRODUCT = ("hub", "registry", "workers", "client/hpcfair", "benchmarks", "examples", "docker")


def test_the_page_is_what_the_command_writes() -> None:
    out = StringIO()
    call_command("settings_reference", stdout=out)
    assert PAGE.read_text() == out.getvalue(), "run: make docs-settings"


def test_every_variable_of_the_product_is_documented() -> None:
    files = [file for part in PRODUCT for file in (ROOT / part).rglob("*") if file.is_file()]
    files += [
        ROOT / "docker-compose.yml",
        ROOT / "Makefile",
        ROOT / "tests/programs.py",
        ROOT / "tests/skips.py",
    ]
    variable = re.compile(rb"\b(?:HPCFAIR_[A-Z0-9_]*[A-Z0-9]|DATABASE_URL|REDIS_URL)\b")
    names = {
        name.decode().removesuffix("_FILE")
        for file in files
        if "__pycache__" not in file.parts
        for name in variable.findall(file.read_bytes())
    }
    documented = set(re.findall(r"^\| `(\w+)`", PAGE.read_text(), re.MULTILINE))
    assert names <= documented
    assert documented - names <= {"POSTGRES_PASSWORD"}
