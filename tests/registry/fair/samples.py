"""Descriptions that the tests of all serialisations share: one that says all, one that says least.

What stands in both is what every record has. A serialisation must do with either.
"""

from dataclasses import replace

from registry.fair.activities import FairScore, Withdrawal
from registry.fair.description import Description
from registry.fair.parts import (
    Agent,
    DatasetUse,
    DerivationDescription,
    Emissions,
    FileDescription,
    Funding,
    Hub,
    License,
    NetworkDescription,
    Organization,
    QualityEvaluation,
    Reference,
    TensorDescription,
)
from registry.fair.withdrawal import withdrawn
from tests.registry.fair.doings import (
    ACTIVITIES,
    BUILDS,
    CONCEPT_PID,
    CREATOR,
    LANDING,
    MADE,
    MODIFIED,
    OID,
    OTHER,
    PID,
    PUBLISHED,
    RECORD,
    REPETITIONS,
    SCAN,
    TUNED_ON,
    URL,
)

__all__ = [
    "CONCEPT_PID", "DATASET", "EVERY", "HUB", "LANDING", "LEAST", "MADE", "MODIFIED", "MOST", "OID",
    "PID", "PUBLISHED", "URL", "WITHDRAWN", "file_of",
]  # fmt: skip

HUB = Hub(
    name="Example Hub",
    url=URL,
    policy_url=f"{URL}/policy",
    shape_url=f"{URL}/shapes/record",
    publisher=Organization(name="Example Lab", ror="https://ror.org/05dxps055", url=URL),
)


def file_of(path: str, media_type: str, role: str, size_bytes: int = 1000) -> FileDescription:
    """A file of the sample; its digest is made of its name."""
    digest = f"{sum(path.encode()):064x}"
    url = f"{LANDING}/resolve/{OID}/{path}"
    return FileDescription(
        path=path,
        url=url,
        size_bytes=size_bytes,
        sha256=digest,
        media_type=media_type,
        role=role,  # type: ignore[arg-type]
    )


LEAST = Description(
    hub=HUB,
    kind="model",
    repository="lab/galaxy-cnn",
    name="galaxy-cnn",
    owner=Agent(name="lab", kind="organization", url=f"{URL}/lab"),
    pid=PID,
    concept_pid=CONCEPT_PID,
    landing=f"{LANDING}?revision={OID}",
    concept_landing=LANDING,
    linkset_url=f"{LANDING}/linkset?revision={OID}",
    crate_url=f"{LANDING}/crate?revision={OID}",
    title="galaxy-cnn",
    version=OID[:10],
    oid=OID,
    tree_oid="0f1e2d3c4b5a69788796a5b4c3d2e1f001234567",
    created=MADE,
    published=PUBLISHED,
    modified=PUBLISHED,
    access="open access",
    versions=(PID,),
    files=(file_of(".gitattributes", "application/octet-stream", "other"),),
)

_SOURCE = DerivationDescription(
    relation="finetune",
    source="lab/galaxy-base",
    url=f"{URL}/lab/galaxy-base",
    pid=f"{URL}/ark:/99999/h2c6p9x4u",
    oid="a" * 40,
)

MOST = replace(
    LEAST,
    doi="https://doi.org/10.5072/galaxy-cnn.v2",
    title="Galaxy CNN: morphology of galaxies",
    version="v2",
    modified=MODIFIED,
    versions=(PID, f"{URL}/ark:/99999/h2d7q2y5v"),
    description="Sorts images of galaxies by their shape, <quickly> & well, with 98 % accuracy.",
    body="# Galaxy CNN\n\nSorts images of galaxies by their shape, <quickly> & well.\n",
    creators=(CREATOR, OTHER),
    contributors=(Agent(name="Grace Helper", roles=("Data curation",)),),
    contact=OTHER,
    funding=(
        Funding(
            funder=Organization(name="European Commission", ror="https://ror.org/00k4n6c32"),
            award="101017207",
            title="FAIR galaxies",
            url="https://cordis.europa.eu/project/id/101017207",
        ),
    ),
    license=License(expression="Apache-2.0", uris=("https://spdx.org/licenses/Apache-2.0",)),
    use_restrictions="Not for navigation.",
    keywords=("galaxy", "morphology"),
    languages=("en",),
    task="image-classification",
    library="onnx",
    categories=("residual-cnn",),
    architectures=("GalaxyNet",),
    files=(
        *LEAST.files,
        file_of("LICENSE", "text/plain", "licence"),
        file_of("README.md", "text/markdown", "card", 4321),
        file_of("config.json", "application/json", "config", 77),
        file_of("model.onnx", "application/octet-stream", "model", 4_912_345),
        file_of("samples.npz", "application/octet-stream", "samples", 65_536),
    ),
    network=NetworkDescription(
        path="model.onnx",
        format="onnx",
        architecture_class="residual-cnn",
        graph_hash="02d3344864ad3db816848c97962366801f71ae3ec4088aeb15dbe13fb673c3a2",
        parameters=1_228_074,
        inputs=(TensorDescription(name="image", dtype="float32", shape=("N", 3, 64, 64)),),
        outputs=(TensorDescription(name="class", dtype="float32", shape=("N", 10)),),
        opsets={"ai.onnx": 17},
        operators={"Conv": 20, "Relu": 17, "Add": 8, "Gemm": 1},
        macs=36_540_000,
        weight_bytes=4_912_296,
        precision="float32",
    ),
    tests=(file_of("test_data_set_0/input_0.pb", "application/octet-stream", "tests"),),
    datasets=(
        DatasetUse(
            name="lab/galaxies",
            role="trained",
            url=f"{URL}/datasets/lab/galaxies",
            pid=f"{URL}/ark:/99999/h2f8r3z6w",
            split="train",
        ),
        DatasetUse(name="galaxy-zoo", role="tested", url="https://doi.org/10.5072/zoo"),
        DatasetUse(name="unheard-of", role="validated"),
    ),
    evaluations=(
        QualityEvaluation(
            task="image-classification",
            dataset="galaxy-zoo",
            metric="accuracy",
            value=0.981,
            low=0.975,
            high=0.986,
            split="test",
            by="author",
        ),
        QualityEvaluation(
            task="image-classification",
            dataset="galaxy-zoo",
            metric="f1",
            value=0.97,
            by="third party",
            url="https://leaderboard.example.org/galaxies",
        ),
        QualityEvaluation(
            task="image-classification",
            dataset="samples.npz",
            metric="accuracy",
            value=0.98,
            by="hub",
            url=f"{URL}/records/{RECORD}",
        ),
    ),
    intended_use="Sorting survey images before people look at them.",
    out_of_scope="Stars.",
    limitations="Trained on bright galaxies only.",
    ethics="None known.",
    usage="Scale pixels to 0..1.",
    snippet='import hpcfair\n\nmodel = hpcfair.load("lab/galaxy-cnn", revision="v2")\n',
    code=Reference(url="https://github.com/example/galaxy-cnn"),
    papers=(Reference(url="https://doi.org/10.48550/arXiv.2001.00001", title="Galaxies"),),
    derived_from=(_SOURCE,),
    activities=ACTIVITIES,
    builds=BUILDS,
    repetitions=REPETITIONS,
    tuned_on=TUNED_ON,
    scan=SCAN,
    activities_omitted=7,
    emissions=Emissions(co2e_kg=0.12, source="codecarbon", hardware="1 x H200"),
    fair=FairScore(
        points=25, of=26, at=MODIFIED, tool="hpcfair 1", url=f"{LANDING}/fair?revision={OID}"
    ),
    unknown={"my_key": [1, 2]},
)

WITHDRAWN = withdrawn(MOST, Withdrawal(at=MODIFIED, reason="Superseded; found to be wrong."))
DATASET = replace(
    LEAST,
    kind="dataset",
    repository="lab/galaxies",
    name="galaxies",
    title="Galaxies",
    description="Ten thousand pictures of galaxies, with their shapes as three people saw them.",
    landing=f"{URL}/datasets/lab/galaxies?revision={OID}",
    concept_landing=f"{URL}/datasets/lab/galaxies",
    files=(file_of("galaxies.csv", "text/csv", "other", 10_000),),
    license=License(expression="CC-BY-4.0", uris=("https://spdx.org/licenses/CC-BY-4.0",)),
    creators=(CREATOR,),
)
#: Versions with more files than records list.
LARGE = replace(
    MOST,
    files_omitted=99_000,
    bytes_omitted=10**12,
    file_list_url=f"{URL}/api/models/lab/galaxy-cnn/tree/{OID}?recursive=true",
)
LARGE_DATASET = replace(
    DATASET,
    files_omitted=1_000,
    bytes_omitted=10**6,
    file_list_url=f"{URL}/api/datasets/lab/galaxies/tree/{OID}?recursive=true",
)
EVERY = {
    "least": LEAST,
    "most": MOST,
    "withdrawn": WITHDRAWN,
    "dataset": DATASET,
    "large": LARGE,
    "large-dataset": LARGE_DATASET,
}
