"""Every message of Apache Kafka 4.3: one module an API, and one for each family of records.

`tools/kafka_schema.py check` compares these modules with the definitions in Kafka's jars.
"""
