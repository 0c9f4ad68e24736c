"""Git's smart HTTP protocol: clone and fetch."""
