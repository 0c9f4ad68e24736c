"""Every line of the table of frameworks, on the real framework and through a real hub."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from examples.hub import embedded_hub, user_token
from tests.frameworks.document import rows
from tests.frameworks.environments import FRAMEWORKS, NAME
from tests.frameworks.lines import LINES
from tests.migrated import migrated_data
from tests.programs import needs

ROOT = Path(__file__).resolve().parents[2]
#: The briefest search, and nothing after it.
_SETTINGS = {
    "HPCFAIR_TUNE_SECONDS": "5",
    "HPCFAIR_SCHEDULE_SECONDS": "0",
    "HPCFAIR_ABLATION_SECONDS": "0",
    "HPCFAIR_PASSES_SECONDS": "0",
    "HPCFAIR_IDLE_SEARCHES": "0",
    "HPCFAIR_ROOFS_SECONDS": "0",
    "HPCFAIR_ASSESS_DAYS": "0",
    "DJANGO_SETTINGS_MODULE": "hub.settings.production",
}


@pytest.fixture(scope="module")
def as_ada(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """Variables of a person with an account on a hub of her own."""
    folder = tmp_path_factory.mktemp("frameworks")
    data = migrated_data(tmp_path_factory, folder / "hub")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE"):
            patch.delenv(name, raising=False)
        with embedded_hub(data, environment=_SETTINGS) as url:
            yield {
                "HOME": str(folder),
                "HPCFAIR_URL": url,
                "HPCFAIR_TOKEN": user_token(data, "ada"),
                "HPCFAIR_CONFIG": str(folder / "config"),
                "HPCFAIR_CACHE": str(folder / "cache"),
                "HPCFAIR_QUIET": "1",
                "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "client"))),
            }


@pytest.mark.slow
@needs("frameworks")
@pytest.mark.parametrize("title", LINES)
def test_a_saved_model_is_tuned_loaded_and_still_the_live_object(
    title: str, as_ada: Mapping[str, str]
) -> None:
    line, row = LINES[title], rows()[title]

    printed = FRAMEWORKS.run(
        NAME,
        "python",
        "-m",
        "tests.frameworks.roundtrip",
        title,
        **as_ada,
        **dict(line.environment),
    )

    result = json.loads(printed.splitlines()[-1])
    print(title, result)
    assert result["saved"] == row.files
    assert result["trials"] > 0
    assert result["build"] is not None
    assert result["deviation"] <= row.limit


def test_the_table_has_a_line_for_every_test_and_states_the_versions_tested() -> None:
    pinned = dict(
        requirement.split("==") for requirement in FRAMEWORKS.wanted[NAME] if "==" in requirement
    )
    stated = {title: row.versions for title, row in rows().items()}
    assert stated == {
        title: {package: pinned[package] for package in line.packages}
        for title, line in LINES.items()
    }
    assert all(row.deviation <= row.limit for row in rows().values())
