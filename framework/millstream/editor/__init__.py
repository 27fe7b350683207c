"""What editors show of a project: functions over a compiled project, and a language server."""
