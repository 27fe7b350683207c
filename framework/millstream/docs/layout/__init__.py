"""Where the nodes of a graph stand and how its edges run, from left to right.

`rank` → `layers` → `bands` → `order` → `position` → `layout`.
"""
