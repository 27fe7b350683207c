"""What a plan is, what made it better and what it costs: as values, and in formats that draw them."""
