"""Packages a project as a bundle that runs by itself: no registry is asked where it runs."""
