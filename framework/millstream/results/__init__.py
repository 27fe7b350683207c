"""What commands measured and found: results, figures, metrics."""
