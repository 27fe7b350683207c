"""Where state tables are kept: one file a store."""
