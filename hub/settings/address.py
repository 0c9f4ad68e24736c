"""The address of the hub that ``manage.py serve`` runs, for commands in other shells."""

from pathlib import Path

_FILE = "address"
#: Where ``serve`` listens without options.
_USUAL = "http://127.0.0.1:8000"


def served_address(data_dir: Path) -> str:
    """The address of the hub that was last served with this data folder."""
    try:
        return (data_dir / _FILE).read_text().strip()
    except FileNotFoundError:
        return _USUAL


def keep_address(data_dir: Path, address: str) -> None:
    """Store the address for :func:`served_address`."""
    (data_dir / _FILE).write_text(f"{address}\n")
