"""The documentation of a project, as a site and in formats of other tools."""
