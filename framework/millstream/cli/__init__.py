"""The command line: click parses arguments, rich renders output."""
