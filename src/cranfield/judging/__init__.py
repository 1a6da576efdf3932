"""What to judge next, samples, the judging page, merged judgments, and how well judges agree."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cranfield.judging.judge_reports import JudgeReport as JudgeReport
    from cranfield.judging.judge_reports import judges as judges
    from cranfield.judging.judgment_files import draw_sample as draw_sample
    from cranfield.judging.judgment_files import judging_page as judging_page
    from cranfield.judging.judgment_files import merge as merge
    from cranfield.judging.proposals import NextDocuments as NextDocuments
    from cranfield.judging.proposals import judging_order as judging_order
    from cranfield.judging.proposals import next_documents as next_documents

MODULES = {
    "judge_reports": ("JudgeReport", "judges"),
    "judgment_files": ("draw_sample", "judging_page", "merge"),
    "proposals": ("NextDocuments", "judging_order", "next_documents"),
}


def __getattr__(name: str) -> Any:
    module = next((module for module, names in MODULES.items() if name in names), None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{module}"), name)


def __dir__() -> list[str]:
    return sorted(name for names in MODULES.values() for name in names)
