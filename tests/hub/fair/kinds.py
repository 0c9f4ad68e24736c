"""Ten public records of unlike kinds, published by users' clients on a running hub.

Used by the test of claims, and by whoever runs outside assessors on a fresh hub: ``publish`` needs
an address, two tokens, and a way to wait for the hub's inspections.
"""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi

from hpcfair.client import Client
from hpcfair.config import Config
from tests.factories import readme, tiny_onnx
from tests.hub.fair.records import CARD, FILES, TEXT

#: Two columns, ``name`` (text) and ``redshift`` (float64), and two rows, written by Apache Arrow.
PARQUET = base64.b64decode(
    "UEFSMRUAFSgVKCwVBBUAFQYVBhwAAAACAAAABAEDAAAATTMxAwAAAE01MRUAFSwVLCwVBBUAFQYVBhwAAAACAAAABAH8"
    "qfHSTWJQv/p+arx0k1g/FQQZPDUAGAZzY2hlbWEVBAAVDCUCGARuYW1lJQBMHAAAABUKJQIYCHJlZHNoaWZ0ABYEGRwZ"
    "LCYAHBUMGSUGABkYBG5hbWUVABYEFk4WTiYISRwVABUAFQIAPBYMGQYZJgAEAAAAJgAcFQoZJQYAGRgIcmVkc2hpZnQV"
    "ABYEFlIWUiZWSRwVABUAFQIAPCkGGSYABAAAABagARYEJggWoAEAKCBwYXJxdWV0LWNwcC1hcnJvdyB2ZXJzaW9uIDI2"
    "LjAuMRksHAAAHAAAAM0AAABQQVIx"
)
DATA_CARD: dict[str, Any] = {
    "pretty_name": "The sky, by shape",
    "version": "1.0.0",
    "license": "cc-by-4.0",
    "tags": ["astronomy", "galaxies"],
    "language": ["en"],
    "authors": CARD["authors"],
    "papers": CARD["papers"],
}
DATA_TEXT = (
    "# Sky\n\nTen thousand pictures of galaxies, with their shapes as three people saw them.\n"
)
RESULT: dict[str, Any] = {
    "task": {"type": "image-classification", "name": "Image Classification"},
    "dataset": {
        "name": "Galaxy Zoo 2 (test part)",
        "type": "galaxy-zoo/gz2",
        "config": "default",
        "split": "test",
        "revision": "5503434ddd753f426f4b38109466949a1217c2bb",
        "args": {"seed": 7, "fold": "b"},
    },
    "metrics": [
        {
            "type": "f1",
            "value": 0.875,
            "name": "Macro F1",
            "config": "macro",
            "args": {"average": "macro"},
        },
        {"type": "accuracy", "value": 0.5, "name": "Top-1"},
    ],
    "source": {"name": "Our paper, table 2", "url": "https://doi.org/10.48550/arXiv.2001.00001"},
}
RICH_CARD: dict[str, Any] = {
    "model_name": "Galaxies, together",
    "license": "mit",
    "pipeline_tag": "image-classification",
    "library_name": "onnx",
    "tags": ["galaxy", "ensemble"],
    "language": ["en", "de"],
    "authors": [
        *CARD["authors"],
        {"name": "Grace van der Berg", "orcid": "0000-0001-5109-3700"},
        {"name": "Example Observatory", "organization": True, "ror": "05dxps055"},
    ],
    "funding": {
        "funder": "European Commission",
        "ror": "00k4n6c32",
        "award": "101017207",
        "title": "FAIR galaxies",
    },
    "papers": ["10.1038/s41597-022-01712-9", "https://doi.org/10.48550/arXiv.2001.00001"],
    "base_model": "alice/galaxy-net",
    "base_model_relation": "finetune",
    "datasets": ["alice/sky"],
    "intended_use": "Sorting survey images before people look at them.",
    "limitations": "Trained on bright galaxies only.",
    "model-index": [{"name": "Galaxies, together", "results": [RESULT]}],
}
_SUMMARY = "# Small\n\nSorts images of galaxies by shape, for those who have little time.\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A published record and what its publisher knows of it.

    Attributes:
        page: Path of its page.
        files: Bytes of the files that were sent; those that a client wrote itself are absent.
        creators: Names in the card, in order; nobody if the card names nobody.
        relation: Relation to ``source``, as every format that has relations must state it.
        results: The ``model-index`` of the card.
    """

    page: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    card: Mapping[str, Any] = field(default_factory=dict)
    creators: tuple[str, ...] = ()
    source: str | None = None
    relation: str | None = None
    is_gated: bool = False
    is_withdrawn: bool = False

    @property
    def results(self) -> list[Any]:
        """``model-index`` of the card."""
        return list(self.card.get("model-index", []))


def publish(
    url: str, alice: str, bob: str, folder: Path, *, inspect: Callable[[], object]
) -> dict[str, Record]:
    """Publish the records at the hub ``url`` as two users, whose tokens are given.

    They are named ``alice`` and ``bob``, and alice is an admin of the organisation ``survey``.

    Args:
        inspect: Called after each model that was saved; returns when the hub has inspected it,
            because a new model is private until then.
    """
    with (
        Client(config=Config(url, alice, folder / "alice")) as of_alice,
        Client(config=Config(url, bob, folder / "bob")) as of_bob,
    ):
        apis = HfApi(endpoint=url, token=alice), HfApi(endpoint=url, token=bob)
        return _Publisher(of_alice, of_bob, *apis, folder, inspect).publish()


@dataclass(frozen=True, slots=True)
class _Publisher:
    alice: Client
    bob: Client
    hf_alice: HfApi
    hf_bob: HfApi
    folder: Path
    inspect: Callable[[], object]

    def publish(self) -> dict[str, Record]:
        records = {"dataset": self._dataset(), "full": self._full()}
        names = tuple(one["name"] for one in CARD["authors"])
        records["copy"] = self._copy(names)
        records["fork"] = self._fork(names)
        records["rich"] = self._rich()
        records["sparse"] = self._save("alice/small", {"license": "mit"}, _SUMMARY)
        records["bare"] = self._bare()
        gated = self._save("alice/by-request", CARD, TEXT)
        self.hf_alice.update_repo_settings("alice/by-request", gated="manual")
        records["gated"] = Record(
            page=gated.page, files=gated.files, card=CARD, creators=names, is_gated=True
        )
        records["moved"], records["recreated"] = self._moved()
        gone = self._save("alice/gone", CARD, TEXT)
        self.hf_alice.delete_repo("alice/gone")
        records["withdrawn"] = Record(
            page=gone.page, files=gone.files, card=CARD, creators=names, is_withdrawn=True
        )
        return records

    def _dataset(self) -> Record:
        files = {
            "README.md": readme(DATA_TEXT, **DATA_CARD).encode(),
            "sky.csv": b"name,shape,size\nM31,spiral,3.2\nM87,elliptical,1.5\n",
            "sky.parquet": PARQUET,
        }
        self.hf_alice.create_repo("alice/sky", repo_type="dataset")
        self._upload("alice/sky", files, repo_type="dataset")
        names = tuple(one["name"] for one in DATA_CARD["authors"])
        return Record(page="/datasets/alice/sky", files=files, card=DATA_CARD, creators=names)

    def _full(self) -> Record:
        card = CARD | {"datasets": ["alice/sky"]}
        files = {name: _bytes(data) for name, data in FILES.items()}
        files["README.md"] = readme(TEXT, **card).encode()
        self.alice.save(self._write("alice/galaxy-net", files), "alice/galaxy-net", wait=False)
        self.inspect()
        names = tuple(one["name"] for one in CARD["authors"])
        return Record(page="/alice/galaxy-net", files=files, card=card, creators=names)

    def _copy(self, names: tuple[str, ...]) -> Record:
        self.bob.reuse("alice/galaxy-net", to="bob/galaxy-copy")
        return Record(
            page="/bob/galaxy-copy",
            card=CARD | {"datasets": ["alice/sky"]},
            creators=names,
            source="/alice/galaxy-net",
            relation="copy",
        )

    def _fork(self, names: tuple[str, ...]) -> Record:
        self.hf_bob.duplicate_repo("alice/galaxy-net", "bob/galaxy-fork")
        return Record(
            page="/bob/galaxy-fork",
            card=CARD | {"datasets": ["alice/sky"]},
            creators=names,
            source="/alice/galaxy-net",
            relation="fork",
        )

    def _rich(self) -> Record:
        record = self._save("bob/together", RICH_CARD, TEXT, of=self.bob, scale=0.75)
        return Record(
            page=record.page,
            files=record.files,
            card=RICH_CARD,
            creators=tuple(one["name"] for one in RICH_CARD["authors"]),
            source="/alice/galaxy-net",
            relation="finetune",
        )

    def _bare(self) -> Record:
        files = {"model.onnx": tiny_onnx(scale=0.125)}
        self.hf_bob.create_repo("bob/bare")
        self._upload("bob/bare", files, api=self.hf_bob)
        return Record(page="/bob/bare", files=files)

    def _moved(self) -> tuple[Record, Record]:
        """A model that an organisation took over, and another one under its old name."""
        card = {"license": "mit", "pipeline_tag": "image-classification"}
        old = self._save("alice/wanderer", card, _SUMMARY, scale=0.25)
        self.hf_alice.move_repo("alice/wanderer", "survey/wanderer")
        new = self._save("alice/wanderer", card, _SUMMARY, scale=0.375)
        return Record(page="/survey/wanderer", files=old.files, card=card), new

    def _save(
        self,
        name: str,
        card: dict[str, Any],
        text: str,
        *,
        of: Client | None = None,
        scale: float = 0.5,
    ) -> Record:
        files = {"README.md": readme(text, **card).encode(), "model.onnx": tiny_onnx(scale=scale)}
        (of or self.alice).save(self._write(name, files), name, wait=False)
        self.inspect()
        creators = tuple(one["name"] for one in card.get("authors", []))
        return Record(page=f"/{name}", files=files, card=card, creators=creators)

    def _upload(
        self,
        name: str,
        files: Mapping[str, bytes],
        *,
        api: HfApi | None = None,
        repo_type: str = "model",
    ) -> None:
        folder = self._write(name, files)
        (api or self.hf_alice).upload_folder(repo_id=name, folder_path=folder, repo_type=repo_type)

    def _write(self, name: str, files: Mapping[str, bytes]) -> Path:
        folder = self.folder / name.replace("/", "-")
        for path, data in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        return folder


def _bytes(data: bytes | str) -> bytes:
    return data.encode() if isinstance(data, str) else data
