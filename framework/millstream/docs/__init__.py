"""What a project is, as a site to look at and in formats that other tools read."""
