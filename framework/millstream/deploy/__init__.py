"""Brings a target to what a project says: plans it, and carries it out on checkpoints and running queries."""
