"""Plans a deployment: computes stages from records and an intent, without changing anything."""
