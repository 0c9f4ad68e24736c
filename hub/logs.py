"""Filters of the log."""

import logging

#: Loggers of what any client can cause at will, such as a wrong Host header.
_CAUSED_BY_CLIENTS = "django.security"
_MOST = 300


class OneLine(logging.Filter):
    """Shortens messages that clients cause to one line, without a traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep ``record``, which may be changed."""
        if record.name.startswith(_CAUSED_BY_CLIENTS):
            text = " ".join(record.getMessage().split())
            record.msg, record.args = text[:_MOST], ()
            record.exc_info = record.exc_text = record.stack_info = None
        return True
