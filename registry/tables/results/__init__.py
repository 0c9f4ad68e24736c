"""Tables of results of inspection, tuning and measurement: graphs, trials, builds, records."""
