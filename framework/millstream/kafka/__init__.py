"""Kafka without a JVM: settings of clients, topics, producing and consuming."""
