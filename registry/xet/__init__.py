"""The Xet protocol's hashes and formats. Knows no tables and no HTTP."""
