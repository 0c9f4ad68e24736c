"""Model bundles: a model with its builds and evidence in one file, to run without its hub."""
