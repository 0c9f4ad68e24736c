"""What people may write: paths, names, cards, licenses. Pure functions, no tables."""
