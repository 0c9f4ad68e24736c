"""How often Python looks for garbage in the processes of the hub."""

import gc

#: New objects after which the youngest generation is collected, and the number of collections of a
#: generation before one of the next. With Python's 700 objects, a page that reads thousands of rows
#: spends a third of its time on collections that free nothing, and a command that starts a fifth.
_COLLECTIONS = 20_000, 10, 10


def collect_rarely() -> None:
    """To be called before the many imports of a process."""
    gc.set_threshold(*_COLLECTIONS)
