"""Tables of discussions and pull requests."""
