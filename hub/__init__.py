"""The web: HTTP in, HTTP out. Knows the registry, nothing of the workers."""
