"""The table of needs on clusters names tests that exist."""

import re

from tests.manual.blocks import ROOT


def test_every_need_has_a_test() -> None:
    text = (ROOT / "docs/howto/hpc.md").read_text()
    lines = text.partition("| need |")[2].splitlines()[2:]
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]
    assert len(rows) > 20
    for need, _, tests in rows:
        names = re.findall(r"`([^`]+)`", tests)
        assert names, f"{need}: no test"
        missing = [name for name in names if not (ROOT / name).is_file()]
        assert not missing, f"{need}: {missing}"
