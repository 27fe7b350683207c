"""Executes the stages of a deployment."""
