"""Where a project reads from: a folder for each kind of source, and what they share."""
