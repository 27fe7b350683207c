"""Which models, branches and filters unit tests reach."""
