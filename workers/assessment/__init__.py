"""The client of assessment runs: fetches metadata records over HTTP, as outside programs do."""
