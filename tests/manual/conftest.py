"""A hub with workers, and a person who follows the manual."""

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from examples.hub import embedded_hub, user_token
from tests.manual.blocks import DOCS, blocks_of
from tests.manual.session import Session
from tests.migrated import migrated_data

#: Short searches; nothing in the background.
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


@dataclass(frozen=True)
class Reader:
    """Somebody who follows the manual.

    Attributes:
        home: Folder of the person, with the client's configuration and cache.
        data: Data folder of the hub.
        token: What the hub showed when the token was created.
    """

    home: Path
    data: Path
    url: str
    token: str

    def environment(self) -> Mapping[str, str]:
        """Variables of the person's programs."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("HPCFAIR_")}
        programs = Path(sys.executable).parent
        return kept | {
            "HOME": str(self.home),
            "PATH": os.pathsep.join((str(programs), os.environ.get("PATH", os.defpath))),
            "HPCFAIR_URL": self.url,
            "HPCFAIR_CONFIG": str(self.home / "config"),
            "HPCFAIR_CACHE": str(self.home / "cache"),
            "HPCFAIR_QUIET": "1",
            "HF_ENDPOINT": self.url,
            "HF_TOKEN": self.token,
            "HF_HOME": str(self.home / "hub-cache"),
        }

    def follow(self, page: Path, **more: str) -> None:
        """Run all blocks of a page, in order. Raises AssertionError where one fails."""
        folder = self.home / page.stem
        session = Session(folder, {**self.environment(), **more}, self.url, f"{self.token}\n")
        try:
            for block in blocks_of(page):
                session.run(block)
        finally:
            session.close()


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """``ada``, who has an account on a hub of her own."""
    folder = tmp_path_factory.mktemp("manual")
    data = migrated_data(tmp_path_factory, folder / "hub")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in _SETTINGS.items():
            patch.setenv(name, value)
        for name in ("DATABASE_URL", "REDIS_URL"):
            patch.delenv(name, raising=False)
        with embedded_hub(data) as url:
            yield Reader(folder / "ada", data, url, user_token(data, "ada"))


@pytest.fixture(scope="module")
def publisher(reader: Reader) -> Reader:
    """``ada`` after the first tutorial, on which the other pages build."""
    reader.follow(DOCS / "tutorials" / "publish.md")
    return reader
