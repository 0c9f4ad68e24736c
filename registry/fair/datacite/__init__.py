"""DataCite's metadata, version 4.7."""
