"""Schema registries: Confluent's API, and a registry for the local target."""
