"""A collection in TOML: a file of its own, or a table of an experiment. Its keys are the keywords of `Collection`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Any

from cranfield.evaluation.collection import JUDGED, Collection
from cranfield.io.toml_file import File, KeyPath, Kind, TomlFile, keywords_of
from cranfield.settings import Field, Record, walk
from cranfield.wording import one_of

# Files of judgments have columns for samples, and files of intents for their types.
KEYWORDS = keywords_of(Collection, without=("name", "types", "strata", "inclusion", "method"))
JUDGES = "Judgments of the same queries by several judges: a file for each name."
KEYS = Record(dict, {**KEYWORDS.fields, "judges": Field(walk(Annotated[Mapping[str, File], JUDGES]))})


def read_collection(path: str | os.PathLike[str]) -> Collection:
    """The collection of a file; an error lists all faults of the file, each with its line."""
    file = TomlFile(os.fsdecode(path), "collection")
    collection = collection_of(file, file.read(KEYS))
    if collection is not None and not collection.given.keys() & {*JUDGED, "items"} and not file.faults:
        file.fault((), f"the collection has no judgments; give {one_of(JUDGED)}")
    file.raise_faults()
    assert collection is not None  # as there are no faults
    return collection


def collection_of(
    file: TomlFile, parts: Mapping[str, Any], at: KeyPath = (), name: str | None = None
) -> Collection | None:
    """The collection of a table of a file; None if that is a fault.

    ``at``: where the table is; ``name``: what {collection} stands for in paths.
    """
    given: dict[str, Any] = {}
    for key, value in parts.items():
        if key == "judges":
            texts = {judge: text for judge, text in (value or {}).items() if text is not None}
            given[key] = {judge: file.one_file((*at, key, judge), text, name) for judge, text in texts.items()}
        elif KEYS.fields[key].type.find(Kind) and value is not None:
            given[key] = file.one_file((*at, key), value, name)
        else:
            given[key] = value
    with file.fault_at(at):
        return Collection(**{key: value for key, value in given.items() if not file.is_faulty((*at, key))})
    return None
