"""The page docs/settings.md: all environment variables of the hub, its workers and its client."""

from collections.abc import Iterable, Sequence

from hub.settings import env

#: Variables that the settings do not read: heading to rows of name, type, default, description.
OTHERS: dict[str, Sequence[tuple[str, str, str, str]]] = {
    "Machine of a worker": (
        ("HPCFAIR_TARGET", "text", "that of the processor", "Target that this machine works for."),
        (
            "HPCFAIR_DEVICE",
            "text",
            "the host's name and six characters, kept in the data folder",
            "Name of this machine as a device.",
        ),
        (
            "HPCFAIR_RUNNER",
            "file",
            "none",
            "Describes another machine, which runs the builds of this one: docs/howto/emulated.md.",
        ),
        (
            "HPCFAIR_AGENT_STATE",
            "folder",
            "`hpcfair-agent` in the user's state folder",
            "State folder of `hpcfair-agent`: its key, token and journal.",
        ),
        (
            "HPCFAIR_AGENT_CACHE_MIB",
            "whole number",
            "20480",
            "MiB of files of jobs that `hpcfair-agent` keeps.",
        ),
        (
            "HPCFAIR_DEBIAN_MIRROR",
            "text",
            "that of this machine's package sources",
            "Debian mirror of emulated machines: docs/howto/emulated.md.",
        ),
    ),
    "Commands and Docker Compose": (
        (
            "HPCFAIR_PASSWORD",
            "text",
            "asked for",
            "Password of the account that `manage.py user` makes.",
        ),
        ("HPCFAIR_PORT", "whole number", "8000", "Port of the proxy in `docker-compose.yml`."),
        (
            "POSTGRES_PASSWORD",
            "text",
            "none",
            "Database password in `docker-compose.yml`: letters and digits.",
        ),
        (
            "HPCFAIR_BACKUP",
            "folder",
            "the volume `backup`",
            "Folder of the service `backup`, which user 1000 can write.",
        ),
        (
            "HPCFAIR_GPU_TARGET",
            "text",
            "gpu",
            "`HPCFAIR_TARGET` of the service `gpu-tuner`.",
        ),
        (
            "HPCFAIR_GPU_DEVICE",
            "text",
            "as `HPCFAIR_DEVICE`",
            "`HPCFAIR_DEVICE` of the service `gpu-tuner`.",
        ),
    ),
    "Processes of `manage.py serve`": (
        (
            "HPCFAIR_SERVING_SINCE",
            "number",
            "set by `serve`",
            "When the hub started, in seconds since the machine booted. Not to be set by hand.",
        ),
    ),
    "Client": (
        ("HPCFAIR_URL", "text", "http://127.0.0.1:8000", "Address of the hub."),
        ("HPCFAIR_TOKEN", "text", "that of `hpcfair login`", "Access token."),
        ("HPCFAIR_CACHE", "folder", "the user's cache folder", "Folder of downloaded files."),
        (
            "HPCFAIR_CACHE_BUDGET",
            "size",
            "none",
            "Size above which downloads remove what was used least recently, such as `50GB`.",
        ),
        (
            "HPCFAIR_SITE_CACHE",
            "folders",
            "none",
            "Caches below the user's, separated by `:`, which are only read.",
        ),
        (
            "HPCFAIR_CONFIG",
            "folder",
            "the user's configuration folder",
            "Folder of `config.json`, which `hpcfair login` writes.",
        ),
        (
            "HPCFAIR_BUNDLE",
            "file",
            "set by module files",
            "Model bundle of a module file or container, for scripts to load.",
        ),
        ("HPCFAIR_OFFLINE", "true or false", "false", "Use the cache only, never the network."),
        ("HPCFAIR_DOI_RESOLVER", "text", "https://doi.org", "Resolver of DOIs."),
        ("HPCFAIR_SIGNED", "true or false", "false", "Refuse what the hub did not sign."),
        ("HPCFAIR_QUIET", "true or false", "false", "Show no progress bars and no hints."),
    ),
    "Tests": (
        (
            "HPCFAIR_TEST_DATABASE",
            "text",
            "SQLite",
            "`postgres` runs the tests on a PostgreSQL server that they start.",
        ),
        ("HPCFAIR_CHROMIUM", "text", "found on the path", "Chromium for the browser tests."),
        (
            "HPCFAIR_EMULATION",
            "text",
            "none",
            "`all` runs the long tests of emulated machines, too.",
        ),
        (
            "HPCFAIR_CLIENTS",
            "text",
            "none",
            "`all` tests more releases of the stock client, more processes, and more Pythons, too.",
        ),
        (
            "HPCFAIR_FRAMEWORKS",
            "text",
            "none",
            "`all` saves, tunes and loads a model of every framework, too.",
        ),
        (
            "HPCFAIR_SLURMCTLD",
            "file",
            "found on the path",
            "`slurmctld` for the tests of the agent in a Slurm job.",
        ),
        (
            "HPCFAIR_REQUIRED_PROGRAMS",
            "text",
            "none",
            "Names from `tests/programs.py`; the tests do not start if one is missing.",
        ),
        (
            "HPCFAIR_SKIPS",
            "file",
            "none",
            "Skipped tests are appended to this file instead of being printed.",
        ),
    ),
}

_HEAD = """# Settings

Environment variables of the hub, its workers and the client. This page is generated from
`hub/settings`: change it there and run `make docs-settings`.

A variable of the hub's type *text* may be set by a file: `NAME_FILE` names a file that holds the
value of `NAME`, as container secrets do. True is `1`, `true`, `yes` or `on`; false is `0`, `false`,
`no` or `off`. The hub does not start with a value that it cannot read.
"""


def document() -> str:
    """The page, as Markdown."""
    sections: dict[str, list[tuple[str, str, str, str]]] = {}
    for one in env.variables.values():
        row = (one.name, one.kind, one.default, one.about)
        sections.setdefault(one.section, []).append(row)
    tables = [_table(title, rows) for title, rows in {**sections, **OTHERS}.items()]
    return "\n".join([_HEAD, *tables])


def _table(title: str, rows: Iterable[tuple[str, str, str, str]]) -> str:
    lines = [f"## {title}", "", "| variable | type | default | meaning |", "|---|---|---|---|"]
    lines += [f"| `{name}` | {kind} | {default} | {about} |" for name, kind, default, about in rows]
    return "\n".join([*lines, ""])
