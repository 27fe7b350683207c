"""What models store: the kinds of output, and their facts."""
