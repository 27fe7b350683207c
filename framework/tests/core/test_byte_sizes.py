"""Numbers of bytes in words."""

import pytest

from millstream.core.byte_sizes import bytes_of, size_in_words, sparks_bytes_of


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (949, "949 bytes"),
        (1000, "1 kB"),
        (1536, "1.5 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1 MB"),
        (8 << 20, "8.4 MB"),
        (512_000_000, "512 MB"),
        (2 << 30, "2.1 GB"),
        (1_234_500_000_000_000, "1,234.5 TB"),
    ],
)
def test_a_megabyte_is_a_million_bytes(number, words):
    assert size_in_words(number) == words


@pytest.mark.parametrize(
    ("text", "number"),
    [("512 MB", 512_000_000), ("1gb", 10**9), ("3 kB", 3000), ("512m", 512 << 20), ("2g", 2 << 30), ("5", 5)],
)
def test_sizes_are_read_as_they_are_shown_and_as_spark_reads_them(text, number):
    assert bytes_of(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [("2g", 2 << 30), ("2gb", 2 << 30), ("1T", 1 << 40), ("512 MB", 512 << 20), ("5", 5), ("much", None)],
)
def test_a_megabyte_of_spark_is_2_to_the_20th(text, number):
    assert sparks_bytes_of(text) == number
