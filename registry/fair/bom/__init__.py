"""Bills of materials: CycloneDX and SPDX."""
