"""Bytes that should be text, and are not all: what can be read of them."""

from __future__ import annotations


def marked(text: bytes) -> bytes:
    """UTF-8, with marks in the place of what is none."""
    return text.decode("utf-8", "replace").encode()


def text_lines(sample: bytes) -> bytes:
    """The lines that are UTF-8: all others are bad rows, and say nothing of types."""
    if marked(sample) == sample:
        return sample
    return b"".join(line for line in sample.splitlines(keepends=True) if marked(line) == line)


def with_header(sample: bytes) -> bytes:
    """The same of lines whose first one has names: it stays, whatever it is."""
    header, end, rest = sample.partition(b"\n")
    return marked(header) + end + (text_lines(rest) or marked(rest))
