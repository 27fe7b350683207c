"""Whether two versions of a model have the same rows."""
