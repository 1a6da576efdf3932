"""Regular expressions that are compiled when they are first used: one process needs few of them."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


def regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """An object with the methods of a compiled regular expression.

    >>> regex("[a-z]+").findall("two words")
    ['two', 'words']
    """
    return cast("re.Pattern[AnyStr]", _Regex(pattern, flags))


class _Regex:
    def __init__(self, *arguments: Any) -> None:
        self._arguments = arguments

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._arguments), name)
        setattr(self, name, value)
        return value
