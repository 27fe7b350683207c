"""What a run is doing, for people, probes and Prometheus."""
