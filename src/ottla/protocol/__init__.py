"""Kafka's protocol: a table of messages (`schema`) and what turns it into functions."""
