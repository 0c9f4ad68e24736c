#!/usr/bin/env python
"""Operators' commands: ``python manage.py help``."""

from hub.cli import main

if __name__ == "__main__":
    main()
