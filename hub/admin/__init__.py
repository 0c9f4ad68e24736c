"""Pages of the hub's operators, by Django's admin; accounts with the staff flag may use them.

They show tables, and change rows through services only, which check permission and write the audit
log. What they do not offer is a management command.
"""
