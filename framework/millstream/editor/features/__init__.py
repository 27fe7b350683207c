"""One file for each feature of editors: functions over an `EditorProject`, without a protocol."""
