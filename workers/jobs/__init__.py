"""Jobs: each module turns a ticket into calls of the engine and of services."""
