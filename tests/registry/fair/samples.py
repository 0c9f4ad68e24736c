"""Descriptions that the tests of all serialisations share: one that says all, one that says least.

What stands in both is what every record has. A serialisation must do with either.
"""

from dataclasses import replace
from datetime import UTC, datetime

from registry.fair.description import Description
from registry.fair.parts import (
    Activity,
    Agent,
    Benchmark,
    Build,
    DatasetUse,
    Derivation,
    Emissions,
    Evaluation,
    FairScore,
    File,
    Funding,
    Hub,
    License,
    Network,
    Organization,
    Reference,
    Software,
    Tensor,
    Withdrawal,
)

URL = "https://hub.example.org"
LANDING = f"{URL}/lab/galaxy-cnn"
OID = "5f1c0de0a4b3f1b2c3d4e5f60718293a4b5c6d7e"
PID = f"{URL}/ark:/99999/h2x7k4q9m"
CONCEPT_PID = f"{URL}/ark:/99999/h2b5n8w3t"
MADE = datetime(2026, 3, 1, 12, tzinfo=UTC)
PUBLISHED = datetime(2026, 3, 1, 12, 0, 5, tzinfo=UTC)
MODIFIED = datetime(2026, 4, 2, 8, 30, tzinfo=UTC)

HUB = Hub(
    name="Example Hub",
    url=URL,
    policy_url=f"{URL}/policy",
    shape_url=f"{URL}/shapes/record",
    publisher=Organization(name="Example Lab", ror="https://ror.org/05dxps055", url=URL),
)


def file_of(path: str, media_type: str, role: str, size_bytes: int = 1000) -> File:
    """A file of the sample; its digest is made of its name."""
    digest = f"{sum(path.encode()):064x}"
    url = f"{LANDING}/resolve/{OID}/{path}"
    return File(
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

_CREATOR = Agent(
    name="Josiah Carberry",
    orcid="https://orcid.org/0000-0002-1825-0097",
    affiliations=(Organization(name="Brown University", ror="https://ror.org/05gq02987"),),
    roles=("Software", "Methodology"),
)
_OTHER = Agent(name="Ada Beispiel", email="ada@example.org")
_ONNX = Software(name="onnxruntime", version="1.31.1", purl="pkg:pypi/onnxruntime@1.31.1")
_OPENVINO = Software(name="openvino", version="2026.4.1", purl="pkg:pypi/openvino@2026.4.1")
_BUILD_URL = f"{URL}/builds/0b8f2a34-5a91-4c1c-8b2f-0d6f3f1f7a11"
_RECORD = "3fd1c8ae290b858c0bcc4f44b49b1e16d5fda68d55d5045f7f6f5b9ff3232088"
_JOB_URL = f"{URL}/jobs/6b4d3c2a-1f0e-4d9c-8b7a-695847362514"
_SOURCE = Derivation(
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
    creators=(_CREATOR, _OTHER),
    contributors=(Agent(name="Grace Helper", roles=("Data curation",)),),
    contact=_OTHER,
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
    software=(_ONNX,),
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
    network=Network(
        path="model.onnx",
        format="onnx",
        architecture_class="residual-cnn",
        graph_hash="02d3344864ad3db816848c97962366801f71ae3ec4088aeb15dbe13fb673c3a2",
        parameters=1_228_074,
        inputs=(Tensor(name="image", dtype="float32", shape=("N", 3, 64, 64)),),
        outputs=(Tensor(name="class", dtype="float32", shape=("N", 10)),),
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
        Evaluation(
            task="image-classification",
            dataset="galaxy-zoo",
            metric="accuracy",
            value=0.981,
            low=0.975,
            high=0.986,
            split="test",
            by="author",
        ),
        Evaluation(
            task="image-classification",
            dataset="samples.npz",
            metric="accuracy",
            value=0.98,
            by="hub",
            url=f"{URL}/records/{_RECORD}",
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
    activities=(
        Activity(
            url=f"{LANDING}/commit/{OID}",
            kind="publish",
            title="Publish v2",
            ended=MADE,
            agent=_CREATOR,
            used=(f"{URL}/ark:/99999/h2c6p9x4u",),
            generated=(PID,),
        ),
        Activity(
            url=_JOB_URL,
            kind="tune",
            title="Tune for x86-64-avx512vnni",
            started=PUBLISHED,
            ended=MODIFIED,
            used=(PID,),
            generated=(_BUILD_URL,),
            tools=(_OPENVINO, _ONNX),
            hardware="x86-64-avx512vnni",
            parameters={"seed": 0.0, "strategy": "learned"},
        ),
    ),
    builds=(
        Build(
            uuid="0b8f2a34-5a91-4c1c-8b2f-0d6f3f1f7a11",
            url=_BUILD_URL,
            target="x86-64-avx512vnni",
            processor="Example Processor 8000",
            backend="openvino",
            tolerance="int8",
            entry_point="model.xml",
            files=(
                File(
                    path="model.xml",
                    url=f"{URL}/api/v1/models/lab/galaxy-cnn/builds/x/files/model.xml",
                    size_bytes=123_456,
                    sha256="ab" * 32,
                    media_type="application/octet-stream",
                    role="model",
                ),
            ),
            benchmark=Benchmark(
                id=_RECORD,
                url=f"{URL}/records/{_RECORD}",
                document_url=f"{URL}/api/v1/records/{_RECORD}",
                baseline="onnxruntime defaults",
                p50_ns=1_234_567,
                ratio=0.42,
                ratio_low=0.40,
                ratio_high=0.45,
                measured=MODIFIED,
            ),
            created=MODIFIED,
            options={"precision": "int8", "threads": "all"},
            tools=(_OPENVINO,),
            deviation={"max_abs": 0.01, "max_rel": 0.02},
            accuracy=0.979,
            accuracy_reference=0.98,
            reproduced=True,
        ),
    ),
    emissions=Emissions(co2e_kg=0.12, source="codecarbon", hardware="1 x H200"),
    fair=FairScore(
        points=25, of=26, at=MODIFIED, tool="hpcfair 1", url=f"{LANDING}/fair?revision={OID}"
    ),
    unknown={"my_key": [1, 2]},
)

WITHDRAWN = replace(
    MOST,
    status="withdrawn",
    access="metadata only access",
    withdrawal=Withdrawal(at=MODIFIED, reason="Superseded; found to be wrong."),
)
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
    creators=(_CREATOR,),
)
EVERY = {"least": LEAST, "most": MOST, "withdrawn": WITHDRAWN, "dataset": DATASET}
