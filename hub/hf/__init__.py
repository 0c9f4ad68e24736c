"""The Hugging Face Hub's wire protocol, for its own unmodified clients."""
