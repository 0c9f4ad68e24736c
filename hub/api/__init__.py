"""REST API: HTTP in, one service or selector, HTTP out."""
