"""How FAIR a record is, as an outside assessor sees it."""
