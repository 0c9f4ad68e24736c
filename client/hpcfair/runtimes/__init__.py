"""Runtimes open the files of a build and run them. The hub's workers measure through them, too."""
