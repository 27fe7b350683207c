"""Servers that run on this machine as long as commands need them."""
