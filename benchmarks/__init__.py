"""System benchmarks, each against a named baseline in the same run. See README.md."""
