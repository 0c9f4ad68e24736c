"""What makes records findable and readable from outside: negotiation, typed links, identifiers."""
