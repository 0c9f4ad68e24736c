"""Settings: ``base`` holds all that is shared; the others are what truly differs."""
