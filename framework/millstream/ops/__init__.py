"""The status of a run, for the live view, probes and Prometheus."""
