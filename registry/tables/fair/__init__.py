"""Tables of FAIR records: identifiers, lineage, assessments and harvesting."""
