"""Statistics of searches and measurements: pure functions on arrays, without tables or HTTP."""
