"""The scenario ``offline``: samples per second of builds, over batches and parallel streams."""
