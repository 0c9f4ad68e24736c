"""Endpoints for FAIR records: identifiers, lineage, assessments and harvesting."""
