"""Schedule search with TVM's MetaSchedule, for the engine's interface.

::

    worker                    TvmSchedules (compiler.py): passes JSON between the children
      ├─ child, one call      extract.py: the loop nests of a network
      ├─ child "search"       search.py: evolution or random search, with the cost model of model.py
      └─ child "run"          run.py: builds and times in its own process; restarted if it dies

For another machine than this one, the last child is replaced by several (split_run.py)::

      ├─ children "libraries" run.py: build and link, as many at once as there are slots
      └─ child "run", there   device.py: opens the libraries and times them, one at a time

Only what runs in children imports TVM.
"""
