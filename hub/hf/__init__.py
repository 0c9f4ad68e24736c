"""The Hugging Face Hub's wire protocol, for unmodified clients."""
