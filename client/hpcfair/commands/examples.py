"""Examples of commands, for ``--help``, the manual pages and the documentation."""

#: Name of a command to lines of a shell.
EXAMPLES: dict[str, tuple[str, ...]] = {
    "login": (
        "hpcfair login https://hub.example.org  # asks for a token, or opens a browser",
        "hpcfair login https://hub.example.org < token.txt  # in a script",
    ),
    "search": (
        "hpcfair search galaxy --task image-classification  # by words and facts",
        "hpcfair search 'latency:<5ms target:auto' --sort latency  # fast on this machine",
    ),
    "info": ("hpcfair info ada/edges  # card, files and builds",),
    "compare": ("hpcfair compare ada/edges --accuracy 0.98  # the fastest build that is as good",),
    "pull": (
        "hpcfair pull ada/edges  # into the folder edges",
        "hpcfair pull doi:10.82433/h2x7k4q9mpr data  # the version that a paper cites",
    ),
    "push": (
        "hpcfair push edges.onnx ada/edges --license mit  # a file",
        "hpcfair push ./model ada/edges -m 'More epochs'  # a folder with its README.md",
    ),
    "import": (
        "hpcfair import hf:org/name  # from huggingface.co; again to update",
        "hpcfair import edges.hpcfair ada/edges  # from a model bundle",
    ),
    "mirror": (
        "hpcfair mirror https://hub.example.org 'lab/*'  # all of a namespace; again to update",
        "hpcfair mirror https://hub.example.org lab/net --to bob --dry-run  # what would be done",
    ),
    "load": (
        "hpcfair load ada/edges  # the fastest build with exact outputs",
        "hpcfair load ada/edges --tolerance int8  # a faster one",
        "hpcfair load ada/edges --json | jq -r .path  # its file, for another program",
    ),
    "prefetch": (
        "hpcfair prefetch ada/edges --target x86-64-amx  # for compute nodes",
        "HPCFAIR_OFFLINE=1 hpcfair load ada/edges  # there, without a network",
    ),
    "run": (
        "hpcfair run ada/edges x.npy -o y.npz  # one input",
        "hpcfair run ada/edges x.npy --scenario offline  # many rows, in batches",
    ),
    "run-on": ("hpcfair run-on arm64-neon ada/edges -i x.npy -o y.npz  # on a device of the hub",),
    "bundle": (
        "hpcfair bundle ada/edges -o edges.hpcfair  # for this machine's targets",
        "hpcfair bundle ada/edges -o edges.oci --target x86-64-amx  # as an OCI image layout",
    ),
    "reproduce": ("hpcfair reproduce ada/edges  # exit status 8 if outputs differ",),
    "tune": ("hpcfair tune ada/edges --budget 10min  # for all targets; waits for the end",),
    "graph": ("hpcfair graph ada/edges --depth 2  # two levels of groups",),
}


def examples_text(name: str) -> str | None:
    """The examples of a command as lines; ``None`` if it has none."""
    examples = EXAMPLES.get(name)
    return "\n".join(["Examples:", *(f"  {each}" for each in examples)]) if examples else None
