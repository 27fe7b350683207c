"""Tells people or programs what happens to a run: each cause once, without slowing the run."""
