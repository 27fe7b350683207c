"""Starts Spark for a target: session, settings, jars, log, and the lock of the target."""
