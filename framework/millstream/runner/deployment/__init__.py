"""The stages of a deployment, carried out."""
