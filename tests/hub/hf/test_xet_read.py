"""Downloads by Xet with the unmodified clients against a live hub."""

from pathlib import Path

import numpy as np
import pytest

from registry.tables import User
from tests.hub.hf.conftest import ApiOf

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_file_is_downloaded_by_its_chunks(api_of: ApiOf, alice: User, tmp_path: Path) -> None:
    content = np.random.default_rng(7).bytes(3_000_000) + bytes(600_000)
    api = api_of(alice)
    api.create_repo("alice/m")
    (tmp_path / "w.bin").write_bytes(content)
    api.upload_file(path_or_fileobj=tmp_path / "w.bin", path_in_repo="w.bin", repo_id="alice/m")
    (entry,) = api.get_paths_info("alice/m", ["w.bin"])
    print(entry)
    back = api.hf_hub_download("alice/m", "w.bin")
    assert Path(back).read_bytes() == content
