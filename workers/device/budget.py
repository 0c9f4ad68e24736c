"""The budget of a search."""

from hpcfair.tickets import JobTicket


def search_seconds(ticket: JobTicket) -> float:
    """Seconds that a tune job asks for, or else those of the hub."""
    return float(ticket.parameters.get("budget_s") or ticket.settings["tune_budget_s"])
