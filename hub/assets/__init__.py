"""Sources of the bundled scripts of the pages, and the command that bundles them."""
