"""Django settings: ``base`` is shared by ``development``, ``production`` and ``testing``."""
