"""Examples: models to publish, a demo and programs to learn from; no part of the hub."""
