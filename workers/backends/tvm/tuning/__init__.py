"""Schedule search with TVM's MetaSchedule, for the engine's interface.

::

    worker                    TvmSchedules (compiler.py): passes JSON between the children
      ├─ child, one call      extract.py: the loop nests of a network
      ├─ child "search"       search.py: evolution or random search, with the cost model of model.py
      └─ child "run"          run.py: builds and times in its own process; restarted if it dies

Only what runs in children imports TVM.
"""
