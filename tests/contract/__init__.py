"""The real client against a live hub: what one says, the other understands."""
