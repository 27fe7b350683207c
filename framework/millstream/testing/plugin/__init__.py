"""The pytest plugin that collects a project's tests, and the runner of `millstream test`."""
