"""Explains plans: their operators, what each rule changed, and their cost."""
