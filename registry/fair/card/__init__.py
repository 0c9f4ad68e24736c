"""Cards read as the parts of a description, with their findings by line."""
