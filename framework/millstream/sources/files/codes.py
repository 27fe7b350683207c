"""Errors of files."""

from millstream.core.codes import read_codes

CODES = read_codes("""
MS699 A file can't be read
    The folder of a source does not exist, or a file lacks a declared column, has it with another type, or is
    damaged. Declare the columns that all files have, or fix the file: the next build reads it again.
""")
