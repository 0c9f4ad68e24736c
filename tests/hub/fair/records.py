"""Records that say much, as tests of what is served of them want them."""

from typing import Any

from registry.states import RepositoryKind
from registry.tables import MLModel, User
from tests.factories import make_mlmodel, readme, tiny_onnx

ORCID = "https://orcid.org/0000-0002-1825-0097"
DESCRIPTION = "Sorts images of galaxies by shape, as well & as fast as people: 1 < 2 faults in 100."
TEXT = f"""# Galaxies

{DESCRIPTION}

## Uses

Survey images.
"""
CARD: dict[str, Any] = {
    "model_name": "Galaxy CNN: morphology",
    "version": "2.1.0",
    "license": "apache-2.0",
    "authors": [
        {
            "name": "Josiah Carberry",
            "orcid": ORCID,
            "affiliation": {"name": "Brown University", "ror": "https://ror.org/05gq02987"},
        },
        {"name": "Ada Beispiel", "email": "ada@example.org"},
    ],
    "pipeline_tag": "image-classification",
    "library_name": "onnx",
    "tags": ["galaxy", "morphology"],
    "language": ["en"],
    "intended_use": "Sorting survey images before people look at them.",
    "papers": ["https://doi.org/10.48550/arXiv.2001.00001"],
    "model-index": [
        {
            "name": "galaxy-net",
            "results": [
                {
                    "task": {"type": "image-classification"},
                    "dataset": {"name": "Galaxy Zoo", "type": "galaxy-zoo"},
                    "metrics": [{"type": "accuracy", "value": 0.98}],
                }
            ],
        }
    ],
}
#: What is hard to name, empty, or longer than a block.
FILES: dict[str, bytes | str] = {
    "README.md": readme(TEXT, **CARD),
    "LICENSE": "Apache License 2.0\n",
    "config.json": '{"architectures": ["GalaxyNet"]}\n',
    "model.onnx": tiny_onnx(),
    "data/grüße aus 2025.txt": "ünï\n",
    "data/empty.bin": b"",
    "data/large.bin": bytes(range(256)) * 2000,
}
DATA = "datasets/lab/galaxies"


def make_record(actor: User) -> MLModel:
    """The public ``lab/galaxy-net``."""
    return make_mlmodel("lab/galaxy-net", actor=actor, files=FILES)


def make_data_record(actor: User) -> MLModel:
    """The public data set ``lab/galaxies``."""
    card = readme("# Galaxies\n\nTen thousand pictures of galaxies.\n", license="cc-by-4.0")
    files = {"README.md": card, "galaxies.csv": "name,shape\nM31,spiral\n"}
    return make_mlmodel("lab/galaxies", actor=actor, files=files, kind=RepositoryKind.DATASET)
