"""Tables of models and data sets as repositories: revisions, branches, tags, files, cards, likes,
access requests.
"""
