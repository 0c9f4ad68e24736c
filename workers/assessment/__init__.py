"""Looks at records from outside, over HTTP, as strangers' programs do."""
