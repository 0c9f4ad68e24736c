"""Exporters: turn objects of other libraries into files to publish."""
