"""Fetch revisions of a file, one after the other: ``REPOSITORY FILE REVISION...``.

Prints the SHA-256 of each.
"""

import hashlib
import sys
from pathlib import Path

from huggingface_hub import hf_hub_download

repository, name, *revisions = sys.argv[1:]
for revision in revisions:
    path = hf_hub_download(repository, name, revision=revision)
    print(hashlib.sha256(Path(path).read_bytes()).hexdigest())
