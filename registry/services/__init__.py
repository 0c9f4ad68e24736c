"""Services: functions that check permission and state, then write in one audited transaction."""
