"""FAIR access to records: content negotiation, typed links, identifiers, harvesting."""
