"""Version 1: one file per noun, its serializers beside its views."""
