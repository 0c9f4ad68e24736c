"""A worker starts only where its kernel confines children as far as the operator requires."""

import functools
import logging
from pathlib import Path
from typing import Any

import pytest

from tests.programs import needs
from workers.device import isolation
from workers.engine.child import Child
from workers.jobs.device import device_settings


@needs("landlock")
@needs("seccomp")
def test_a_complete_sandbox_is_enough_for_every_level(settings: Any, data_dir: Path) -> None:
    settings.ISOLATION = "landlock+seccomp"
    isolation.require_isolation(device_settings())


@needs("seccomp")
def test_an_older_kernel_is_reported_or_refused(
    settings: Any, data_dir: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(isolation, "Child", functools.partial(Child, layers=["seccomp"]))
    with caplog.at_level(logging.WARNING, logger="workers"):
        isolation.require_isolation(device_settings())
    assert "by 'seccomp' only" in caplog.text
    settings.ISOLATION = "landlock"
    with pytest.raises(SystemExit, match="HPCFAIR_ISOLATION requires 'landlock'"):
        isolation.require_isolation(device_settings())
