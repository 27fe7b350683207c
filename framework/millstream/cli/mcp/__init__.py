"""Serves agents and scripts with the Model Context Protocol: what commands answer."""
