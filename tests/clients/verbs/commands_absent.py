"""Commands of ``hf`` for what this hub does not offer."""

from tests.clients.verbs.absent import (
    BUCKET,
    BUCKETS,
    COLLECTIONS,
    ENDPOINTS,
    JOB,
    JOBS,
    PAPERS,
    SLUG,
    SPACE,
    SPACES,
)
from tests.clients.verbs.command_line import add, elsewhere, fails, refused
from tests.clients.verbs.commands import LISTS
from tests.clients.verbs.context import Context
from tests.clients.verbs.table import Result, Verb

refused(
    JOBS,
    "does not offer Jobs",
    {
        "jobs run": "python:3.12 true",
        "jobs list": "",
        "jobs logs": JOB,
        "jobs inspect": JOB,
        "jobs cancel": JOB,
        "jobs rerun": JOB,
        "jobs wait": JOB,
        "jobs stats": JOB,
        "jobs hardware": "",
        "jobs expose": f"{JOB} 80",
        "jobs labels": f"{JOB} --name words",
        "jobs ssh": f"{JOB} --dry-run",
        "jobs scheduled run": "@daily python:3.12 true",
        "jobs scheduled list": "",
        "jobs scheduled inspect": JOB,
        "jobs scheduled labels": f"{JOB} --name words",
        "jobs scheduled delete": JOB,
        "jobs scheduled suspend": JOB,
        "jobs scheduled resume": JOB,
        "jobs scheduled trigger": JOB,
        "jobs scheduled reschedule": f"{JOB} @daily",
    },
)
refused(
    JOBS,
    "does not offer Buckets",
    {"jobs uv run": "SCRIPT", "jobs scheduled uv run": "@daily SCRIPT"},
    "A script of this machine would be uploaded first.",
)
refused(
    "Sandboxes",
    "does not offer Jobs",
    {
        "sandbox create": "python:3.12",
        "sandbox exec": f"{JOB} -- true",
        "sandbox spawn": f"{JOB} -- true",
        "sandbox cp": f"{JOB}:/a.txt a.txt",
        "sandbox kill": f"{JOB} -y",
        "sandbox process ls": JOB,
        "sandbox process kill": f"{JOB} 1",
        "sandbox pool create": "python:3.12",
        "sandbox pool ls": "",
        "sandbox pool delete": f"{JOB} -y",
    },
    "Sandboxes are jobs.",
)
refused(
    BUCKETS,
    "does not offer Buckets",
    {
        "buckets create": BUCKET,
        "buckets delete": f"{BUCKET} -y",
        "buckets info": BUCKET,
        "buckets list": BUCKET,
        "buckets cp": f"hf://buckets/{BUCKET}/a.txt -",
        "buckets remove": f"{BUCKET}/a.txt -y",
        "buckets settings": f"{BUCKET} --private",
        "buckets sync": f"hf://buckets/{BUCKET} folder",
        "sync": f"hf://buckets/{BUCKET} folder",
    },
)
refused(BUCKETS, "has models and datasets", {"buckets move": f"{BUCKET} alice/other"})
refused(
    COLLECTIONS,
    "does not offer Collections",
    {
        "collections list": "--owner alice",
        "collections info": SLUG,
        "collections create": "Words",
        "collections update": f"{SLUG} --title A",
        "collections delete": SLUG,
        "collections add-item": f"{SLUG} alice/words model",
        "collections update-item": f"{SLUG} 1 --note A",
        "collections delete-item": f"{SLUG} 1",
    },
)
refused(
    PAPERS,
    "does not offer Papers",
    {
        "papers list": "",
        "papers search": "words",
        "papers info": "2601.15621",
        "papers read": "2601.15621",
    },
)
refused(
    SPACES,
    "RepositoryNotFoundError",
    {
        "spaces card": SPACE,
        "spaces dev-mode": SPACE,
        "spaces hot-reload": f"{SPACE} app.py",
        "spaces logs": SPACE,
        "spaces pause": SPACE,
        "spaces restart": SPACE,
        "spaces settings": f"{SPACE} --sleep-time 60",
        "spaces ssh": f"{SPACE} --dry-run",
        "spaces wait": SPACE,
        "spaces secrets add": f"{SPACE} -s KEY=value",
        "spaces secrets delete": f"{SPACE} KEY -y",
        "spaces secrets list": SPACE,
        "spaces variables add": f"{SPACE} -e KEY=value",
        "spaces variables delete": f"{SPACE} KEY -y",
        "spaces variables list": SPACE,
        "spaces volumes set": f"{SPACE} -v hf://models/alice/words:/data",
        "spaces volumes delete": f"{SPACE} -y",
        "spaces volumes list": SPACE,
    },
    "A missing repository.",
)
refused(SPACES, "not found", {"spaces info": SPACE}, "A missing repository.")
refused(
    SPACES,
    "does not offer Spaces",
    {
        "spaces list": "",
        "spaces search": "words",
        "spaces templates": "",
        "spaces hardware": "",
        "spaces zero-gpu quota": "",
    },
)
refused(
    LISTS,
    "third-party endpoints",
    {"datasets parquet": "alice/words"},
    "The client itself refuses: it knows one viewer of data sets.",
)


def _leaderboard(of: Context) -> None:
    fails(f"datasets leaderboard {of.repo(kind='dataset')}", "does not offer leaderboards")


add(Verb("datasets leaderboard", LISTS, Result.REFUSED, "", _leaderboard))
_DEPLOYED = (
    "words --repo alice/words --framework pytorch --accelerator cpu --instance-size x2"
    " --instance-type intel-icl --region us-east-1 --vendor aws"
)
elsewhere(
    ENDPOINTS,
    "api.endpoints.huggingface.cloud",
    {
        "endpoints list": "--namespace alice",
        "endpoints deploy": f"{_DEPLOYED} --namespace alice",
        "endpoints describe": "words --namespace alice",
        "endpoints hardware": "--namespace alice",
        "endpoints update": "words --namespace alice --task other",
        "endpoints pause": "words --namespace alice",
        "endpoints resume": "words --namespace alice",
        "endpoints scale-to-zero": "words --namespace alice",
        "endpoints delete": "words --namespace alice --yes",
    },
    "Asks endpoints.huggingface.cloud.",
)
elsewhere(
    ENDPOINTS,
    "endpoints.huggingface.co",
    {
        "endpoints catalog list": "",
        "endpoints catalog deploy": "--repo alice/words --namespace alice",
        "endpoints list-catalog": "",
    },
    "Asks endpoints.huggingface.co.",
)
elsewhere(
    "The client itself",
    "api.github.com",
    {"extensions search": ""},
    "Extensions are repositories of GitHub.",
)
elsewhere(
    "The client itself",
    "github.com",
    {"extensions install": "alice/hf-words"},
    "Extensions are repositories of GitHub.",
)
refused(
    "The client itself",
    "does not offer Buckets",
    {"skills add": "words", "skills list": ""},
    "Skills are in a bucket; `hf skills add` without a name works.",
)

#: Commands that ask no hub: about the client and what it keeps on the machine; DuckDB's SQL.
LOCAL = frozenset(
    {
        *("env", "version", "update", "lfs-enable-largefiles", "lfs-multipart-upload"),
        *("extensions exec", "extensions list", "extensions remove", "extensions update"),
        *("skills preview", "skills update", "datasets sql"),
    }
)
