"""What tests of several folders have in common."""
