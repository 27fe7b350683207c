"""Files become values: settings, targets, sources, functions, and models' rendered SQL with its span map."""
