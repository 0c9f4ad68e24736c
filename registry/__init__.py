"""The domain: what is shared, by whom, in which state. Knows no HTTP and no compiler."""
