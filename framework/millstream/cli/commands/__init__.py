"""One file a command, named in `millstream.cli.registry`."""
