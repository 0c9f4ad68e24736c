"""Tables of what inspection, tuning and measurement of a network produced: graphs, test tensors,
trials, builds, benchmark records.
"""
