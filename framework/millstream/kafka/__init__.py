"""Kafka without a JVM: settings of clients, topics, records in and out."""
