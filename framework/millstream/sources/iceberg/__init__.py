"""Iceberg tables that other programs write."""
