"""Writes to FAIR records: identifiers, lineage, assessments and harvesting."""
