"""Tables of data sets' files."""

from collections.abc import Collection

from registry.fair.datatable import TableDescription, table_of
from registry.tables import DataTable

#: Digest and format to the table.
Tables = dict[tuple[str, str], TableDescription]


def data_tables(digests: Collection[str]) -> Tables:
    """The tables that were read from these blobs, those without columns included."""
    rows = DataTable.objects.filter(blob__in=digests) if digests else ()
    return {(row.blob_id, row.format): table_of(row.rows, row.columns) for row in rows}
