"""Ranks load together: with one cache, with a cache for each node, and what the hub refuses.

Arguments: address of the hub, a folder. Prints one line of JSON for each rank.
"""

import hashlib
import json
import sys
from pathlib import Path

from mpi4py import MPI

from hpcfair import Client, errors
from hpcfair.config import Config

url, folder = sys.argv[1], Path(sys.argv[2])
world = MPI.COMM_WORLD
rank = world.Get_rank()


def digests(cache: Path) -> list[str]:
    with Client(config=Config(url, None, cache)) as client:
        path = client.load("lab/tiny", target=None, as_="path", comm=world)
    assert path.is_relative_to(cache), path
    files = sorted(path.parent.iterdir())
    return [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]


shared = digests(folder / "shared")
local = digests(folder / f"node-{rank // 2}")
try:
    with Client(config=Config(url, None, folder / "shared")) as client:
        client.load("lab/absent", comm=world, as_="path")
    refusal = ""
except errors.ModelNotFound as error:
    refusal = error.code
lines = world.gather(json.dumps({"shared": shared, "local": local, "refusal": refusal}))
if rank == 0:
    print(*lines, sep="\n")
