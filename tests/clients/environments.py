"""Other people's clients, one environment per version, kept in ``.clients/``.

What runs in them is a script of :mod:`tests.clients.scripts`, or a command they bring.
"""

from pathlib import Path

from tests.environments import Environments

#: 0.36 is the last line before httpx; up to 1.19 the hub may choose how files travel, from 1.20
#: on it may not.
CLIENTS = Environments(
    Path(__file__).resolve().parent.parent.parent / ".clients",
    {
        "hub-0.36": ("huggingface_hub==0.36.2",),
        "hub-1.19": ("huggingface_hub==1.19.0",),
        "hub-1.33": ("huggingface_hub==1.33.0",),
        "hub-2.4": ("huggingface_hub==2.4.0",),
        # The last line that keeps the chunks it downloads.
        "xet-1.1": ("huggingface_hub==0.36.2", "hf_xet==1.1.5"),
        "transformers": (
            "huggingface_hub==2.4.0",
            "transformers==5.23.0",
            "torch==2.13.0",
            "datasets==5.2.0",
            "numpy>=2",
        ),
        # For ranks that run our client, from its source.
        "mpi": (
            "mpi4py==4.1.2",
            "mpich==5.0.2",
            "httpx>=0.28",
            "numpy>=2",
            "nvidia-ml-py>=13",
            "platformdirs>=4",
            "PyYAML>=6",
            "rich>=15",
            "typer>=0.29",
        ),
    },
)
SCRIPTS = Path(__file__).parent / "scripts"
command = CLIENTS.run


def run(name: str, script: str, *arguments: str, **environment: str) -> str:
    """Run ``scripts/<script>.py`` in the environment ``name``: see :meth:`Environments.run`."""
    path = SCRIPTS / f"{script}.py"
    return command(name, "python", str(path), *arguments, **environment)


if __name__ == "__main__":
    CLIENTS.make_all()
