"""Reads of repositories: models, data sets, revisions, branches, tags, likes, access requests."""
