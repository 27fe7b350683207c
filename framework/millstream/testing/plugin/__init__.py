"""Tests as items of pytest, and what runs pytest over them."""
