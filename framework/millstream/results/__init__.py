"""Results of commands and tests, figures of data, metrics of runs."""
