"""One file for each command, listed in `millstream.cli.registry`."""
