"""`millstream dev`: after each save, what the compiler, the unit tests and the rows say of the edit."""
