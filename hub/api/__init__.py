"""REST API: each view validates, calls one service or selector, and serialises its result."""
