"""Packages a project with all that it needs to run: no registry is asked where it runs."""
