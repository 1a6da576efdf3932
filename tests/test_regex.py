"""Regular expressions that are compiled at first use."""

from __future__ import annotations

import re

import pytest

from cranfield.regex import regex


def test_methods_and_attributes_are_those_of_the_compiled_expression() -> None:
    words = regex(rb"([a-z]+)\d", re.IGNORECASE)
    match = words.fullmatch(b"AB1")
    assert match is not None
    assert match[1] == b"AB"
    assert (words.pattern, words.flags, words.groups) == (rb"([a-z]+)\d", re.IGNORECASE, 1)
    assert words.sub(b"", b"a1 b2") == b" "


def test_compiled_at_first_use() -> None:
    wrong = regex("(")
    with pytest.raises(re.error):
        wrong.search("")
