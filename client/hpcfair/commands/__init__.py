"""The commands of ``hpcfair``, one module per topic."""
