"""TVM's MetaSchedule behind the engine's search for schedules.

::

    worker                    TvmSchedules (compiler.py): hands JSON from one child to the other
      ├─ child, one call      extract.py: the loop nests of a network
      ├─ child "search"       search.py: evolution or chance, with the cost model of model.py
      └─ child "run"          run.py: builds in its own process and times; replaced when it dies

Only what runs in children imports TVM.
"""
