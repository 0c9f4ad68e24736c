"""Tables that the search index follows."""
