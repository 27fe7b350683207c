"""The command line: click for what is read, rich for what is shown."""
