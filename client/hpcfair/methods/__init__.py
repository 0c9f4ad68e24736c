"""The methods of :class:`hpcfair.Client`, by area."""
