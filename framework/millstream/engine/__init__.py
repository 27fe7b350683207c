"""Runs queries on Spark."""
