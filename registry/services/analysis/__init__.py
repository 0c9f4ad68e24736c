"""Writes of the analysis of performance: roofs, experiments on schedules, principles."""
