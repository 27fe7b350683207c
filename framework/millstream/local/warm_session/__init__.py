"""A warm session: a background process of a project and user, which keeps Spark's JVM for the next command.

It forks a process for each command, with all modules imported, and lends its JVM to one command at a time.
It is reached by a socket in a folder that only the user can enter, and ends after some time without commands.
"""
