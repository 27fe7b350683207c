"""What is written by hand in `by_hand`, as Millstream projects that mean the same."""
