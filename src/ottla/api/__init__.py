"""One module per Kafka API, and one explicit table of them (`table.py`)."""
