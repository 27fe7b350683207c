"""MS89x: schema registries."""

from millstream.core.codes import read_codes

CODES = read_codes("""
MS891 The schema registry can't be reached
    No registry responds at the `url` of the target's `schema_registry`: the address or port is wrong, it is
    down, or its certificate is not trusted. What answers may also not be a schema registry.
MS892 The schema registry refuses the login
    The registry responds but rejects the credentials, or the user lacks the permission. Check `username` and
    `password`, or `token`, of the target's `schema_registry`.
MS893 Not in the schema registry
    The registry has no subject, version or schema id of this name or number. By default, a topic's subject is
    named `<topic>-value`; `schema: {subject: …}` names another one.
MS894 The schema registry has an invalid schema
    A schema in the registry, or the answer about it, can't be read.
MS895 No usable schema registry
    The target has no `schema_registry`, or its settings don't fit together.
MS896 The schema registry failed
    The registry returned an error of its own. See its log for details.
MS897 The schema registry refuses a schema
    What a sink writes is not compatible with the earlier schemas of its subject, by the compatibility level
    of that subject. Nothing was written. Keep the schema compatible, or write to another topic.
""")
