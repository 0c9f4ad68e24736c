"""The web server: REST API, pages, Hugging Face protocol, git. Imports the registry only."""
