"""Formats of TREC and NTCIR: text, question answering, and collections of documents.

Text: runs with six columns, judgments with four. Every file that is nothing else is read as this.

Question answering is named ``qa:FILE``: each answer is a pair of a document and a text. Runs have lines ``query Q0
document rank score tag answer``, judgments have lines ``query document judgment answer``; an answer is the rest of its
line. A pair becomes one id, `answer_id`, so that a document may have several answers. Of the judgments, 1 is right; -1
(wrong), 2 (unsupported) and 3 (inexact) are not relevant. The letters R, W, U and X mean the same.

Collections: ``<DOC> <DOCNO>id</DOCNO> ... </DOC>``, with the text in certain elements or in all of them.

NTCIR: judgments with grades L0, L1, ... in three or four columns, and runs that begin with a description.

Judgments are lines ``query document grade``, or with intents ``query intent document grade``. A run is TREC text after
an element ``<SYSDESC>``, which ends in the first lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from cranfield import native
from cranfield.data import Judgments, Run, Strings
from cranfield.errors import max_faults, reading
from cranfield.io.columns import Columns, check_marks, quantity
from cranfield.io.documents import Block, Documents, DocumentsBuilder, FieldChoice, TextReader, encode_text
from cranfield.io.faults import Fault, Location, TableKind, fault_text
from cranfield.io.formats.delimited import delimiter_of
from cranfield.io.runs import no_rows_error, raise_faults
from cranfield.io.streams import (
    BOM,
    HEAD,
    ContentKind,
    Continued,
    FileFormat,
    Roles,
    Row,
    SourceFormat,
    Stream,
    WritableTable,
    detect_compression,
    detect_file,
    open_stream,
    reject_columns,
)
from cranfield.io.tables import METHODS, Piece, Rows, group_judgments, read_rows
from cranfield.io.write import ROWS_PER_PIECE, unwritable_id

SAMPLED_WIDTH = 5
_BLANK = re.compile(r"[\x00\t-\r ]+")


def is_table(_stream: Stream, kind: ContentKind, _columns: Roles = None) -> bool:
    """Any run or judgments that no other format recognises."""
    return kind != "documents"


def read_run(stream: Stream, name: str, columns: Roles) -> Run:
    """A run that is read when it is joined to judgments."""
    reject_columns(columns)
    return Run(name, stream.opener, stream.source_name)


def read_qrels(stream: Stream, name: str, columns: Roles) -> Judgments:
    """The judgments of all lines."""
    reject_columns(columns)
    if is_sampled(stream):
        return read_sampled(stream, name)
    location = Location(stream.source_name, "qrels")
    with reading(stream.source_name):
        result = raise_faults(native.scan_qrels(stream.opener, max_faults()), location)
    if len(result["line"]) == 0:
        raise no_rows_error(stream.source_name)
    query, iteration, document = (Strings(*result[column]) for column in ("query", "iteration", "document"))
    check_marks(query, stream.source_name)
    rows = Rows(query, result["query_of"], iteration, result["iteration_of"], document, result["grade"], result["line"])
    return group_judgments(name, rows, location)


def is_sampled(stream: Stream) -> bool:
    """Whether the first line has the five columns of judgments of a sample."""
    first = stream.first_line.split()
    return len(first) == SAMPLED_WIDTH and not first[0].startswith(b"#")


ITERATIONS = frozenset(("0", "Q0", "q0"))
SAMPLED = ("query", "Q0", "document", "stratum", "grade")  # the second one is no subtopic
PROBABILITIES = ("query", "document", "grade", "method", "probability")


def read_sampled(stream: Stream, name: str) -> Judgments:
    """Judgments of a sample, from TREC's five columns (with strata) or from statAP's (with probabilities).

    The order of the columns tells them apart: the document is the third or the second.
    """
    lines = list(stream.columns())
    names = PROBABILITIES if _has_probabilities([columns for _, columns, _ in lines]) else SAMPLED
    faults = [
        Fault(at, "syntax", b"", fault_text(f"{len(columns)} columns, expected {' '.join(names)}"), 0)
        for at, columns, _ in lines
        if len(columns) != len(names)
    ]
    complete = [(at, columns) for at, columns, _ in lines if len(columns) == len(names)]
    frame = Columns.of_text(names, [row for _, row in complete], np.array([at for at, _ in complete], np.int64))
    roles = {"method": "method"} if "method" in names else {}
    return read_rows("qrels", lambda: iter([(frame, faults)]), name, roles, stream.source_name)


def _has_probabilities(lines: list[list[str]]) -> bool:
    """Whether these are statAP's columns: the second one names documents, and the last one is a probability."""
    complete = [fields for fields in lines if len(fields) == len(SAMPLED)]
    if {fields[1] for fields in complete} <= ITERATIONS:
        return False
    fits = [
        np.isfinite(quantity(grade)) and method in METHODS and (share == "NA" or 0 <= quantity(share) < np.inf)
        for _, _, grade, method, share in complete
    ]
    pairs = {(fields[0], fields[1]) for fields in complete}
    # A few faulty lines do not make another format.
    return 2 * sum(fits) > len(complete) and 2 * len(pairs) > len(complete)


def write_trec(table: WritableTable) -> Iterator[bytes]:
    """One line per row; an error for ids that would not be read back."""
    rows, first = table.trec_rows(), True
    while piece := list(islice(rows, ROWS_PER_PIECE)):
        yield trec_lines(piece, table.path, table.kind, first=first)
        first = False


def trec_lines(rows: Sequence[Row], path: str, kind: TableKind, *, first: bool = True) -> bytes:
    """Rows as TREC text; an error for ids that would not be read back. ``first``: the file begins with them."""
    data = _encode(rows, path)
    if first and rows:
        _check_beginning(data, rows[0][0], path, kind)
    return data


def _encode(rows: Sequence[Row], path: str) -> bytes:
    for row in rows:
        query = row[0]
        for text in row:
            if isinstance(text, str) and (not text or _BLANK.search(text)):
                raise unwritable_id(path, text, "TREC text has no way to write an id that is empty or contains blanks")
        if query.startswith(("#", "\ufeff")):
            raise unwritable_id(path, query, "TREC text that begins like this is read as something else")
    return "".join([" ".join(map(str, row)) + "\n" for row in rows]).encode("utf-8", "surrogateescape")


def _check_beginning(data: bytes, query: Any, path: str, kind: TableKind) -> None:
    """Raise if the file would be recognised as another format."""
    head = Stream(path, "", data[:HEAD], lambda: None)
    if detect_compression(data) or detect_file(head, kind) is not FORMATS[0]:
        raise unwritable_id(path, query, "TREC text that begins like this is read as another format")


ANSWERS = "qa:"
NIL = "NIL"
GRADE = "grade"
ANSWER_FIELDS: dict[TableKind, tuple[str, ...]] = {
    "run": ("query", "Q0", "document", "rank", "score", "tag"),
    "qrels": ("query", "document", GRADE),
}
ANSWER_GRADES = {"1": "1", "-1": "0", "2": "0", "3": "0", "R": "1", "W": "0", "U": "0", "X": "0"}
JUDGMENTS = "of 1, -1, 2 or 3, or R, W, U or X"


def answer_id(document: str, answer: str) -> str:
    """The id of an answer in a document: both, without blanks. NIL has no answer.

    >>> answer_id("AP880212-0001", " Tom  Hanks"), answer_id("NIL", "")
    ('AP880212-0001/Tom_Hanks', 'NIL')
    """
    words = answer.split()
    return document if document == NIL or not words else f"{document}/{'_'.join(words)}"


def is_answers(path: str) -> bool:
    """Whether a path is qa:FILE."""
    return path.startswith(ANSWERS)


def read_answers(path: str, name: str | None) -> Run:
    """The answers of a system. NIL may be repeated; an evaluation with ``nil`` counts the first one."""
    return _read_answers("run", path, name)


def read_answer_judgments(path: str, name: str | None) -> Judgments:
    """The judgments of answers."""
    return _read_answers("qrels", path, name)


def _read_answers(kind: TableKind, path: str, name: str | None) -> Any:
    stream = open_stream(path.removeprefix(ANSWERS), kind)
    piece = _answers(stream, ANSWER_FIELDS[kind])
    return read_rows(kind, lambda: iter([piece]), name or stream.name, None, stream.source_name)


def _answers(stream: Stream, fields: Sequence[str]) -> Piece:
    """The lines of a file as columns; the answer, if there is one, is the rest of a line and part of the id."""
    rows: list[list[str]] = []
    lines: list[int] = []
    faults: list[Fault] = []
    for at, line in enumerate(stream.read_text().split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        row = line.split(None, len(fields))
        if len(row) < len(fields):
            faults.append(Fault(at, "syntax", b"", fault_text(f"expected {' '.join(fields)} answer"), 0))
        elif fields[-1] == GRADE and row[2].upper() not in ANSWER_GRADES:
            faults.append(Fault(at, "syntax", fault_text(row[0]), fault_text(f"expected a judgment {JUDGMENTS}"), 0))
        else:
            answer = row[len(fields)] if len(row) > len(fields) else ""
            changed = {"document": answer_id(row[fields.index("document")], answer)}
            changed |= {GRADE: ANSWER_GRADES[row[2].upper()]} if fields[-1] == GRADE else {}
            rows.append([changed.get(field, text) for field, text in zip(fields, row, strict=False)])
            lines.append(at)
    if not rows and not faults:
        raise no_rows_error(stream.source_name)
    return Columns.of_text(fields, rows, np.array(lines, np.int64)), faults


TEXT_ELEMENTS = ("TITLE", "HEADLINE", "HEAD", "HL", "TTL", "LP", "LEADPARA", "TEXT")
DOC_TAG = re.compile(rb"<DOC>", re.IGNORECASE)
_DOCUMENT = rb"(?is)<DOC>(.*?)(?:(</DOC>)|(?=<DOC>)|\Z)"
_DOCNO = rb"<(DOCNO)>"
_METADATA = rb"<(DOCNO|DOCHDR|DOCID|DOCOLDNO|FILEID)>"
_INVISIBLE = rb"<(!--|(?:script|style)\b)"


class Element(NamedTuple):
    """Where an element begins and ends in a text, with its tags; its first tag, and what is between them."""

    begin: int
    end: int
    tag: bytes
    content: bytes


def elements(text: bytes, opening: bytes) -> Iterator[Element]:
    """The elements whose first tag matches, in order; one without an end is none. Group 1 is the name.

    One pass: a tag that is not closed is looked for once, not again at each of its repetitions.
    """
    closings: dict[bytes, re.Pattern[bytes] | None] = {b"!--": re.compile(rb"-->")}
    at = 0
    for tag in re.finditer(opening, text, re.IGNORECASE):
        if tag.start() < at:
            continue
        name = tag[1].lower()
        if name not in closings:
            closings[name] = re.compile(rb"</" + re.escape(name) + rb"\s*>", re.IGNORECASE)
        closing = closings[name]
        end = closing.search(text, tag.end()) if closing is not None else None
        if end is None:
            closings[name] = None
        else:
            at = end.end()
            yield Element(tag.start(), at, tag[0], text[tag.end() : end.start()])


def without_elements(text: bytes, opening: bytes) -> bytes:
    """The text with a blank in place of each element."""
    parts, at = list[bytes](), 0
    for element in elements(text, opening):
        parts.append(text[at : element.begin])
        at = element.end
    return b" ".join([*parts, text[at:]])


def is_sgml(stream: Stream, kind: ContentKind, _columns: Roles = None) -> bool:
    """Whether a collection has a <DOC> tag in its first bytes; a .tsv file may be about such tags."""
    return kind == "documents" and DOC_TAG.search(stream.head) is not None and delimiter_of(stream.source_name) != "\t"


class Sgml(TextReader):
    """Newswire and web pages. A document with a TEXT element has its text in the named elements; others everywhere."""

    def __init__(self, stream: Stream, choice: FieldChoice) -> None:
        tag = DOC_TAG.search(stream.head)
        super().__init__(stream, b"</doc>" if tag and tag[0] == b"<doc>" else b"</DOC>")
        names = b"|".join(re.escape(name.encode("utf-8", "surrogateescape")) for name in choice.texts or TEXT_ELEMENTS)
        self.element = rb"<(" + names + rb")(?:\s[^<>]*)?>"
        self.elements_chosen = choice.texts is not None

    def parse(self, block: Block) -> Documents:
        documents = DocumentsBuilder()
        line, counted_to = block.line, 0
        for match in re.finditer(_DOCUMENT, block.content):
            line += block.content.count(b"\n", counted_to, match.start())
            counted_to = match.start()
            docno = next((element.content.strip() for element in elements(match[1], _DOCNO)), b"")
            if match[2] is None:
                documents.fault(line, "the document has no end: </DOC> is missing")
            elif not docno:
                documents.fault(line, "the document has no id: <DOCNO> is missing")
            elif b"\0" in match[1]:
                documents.fault(line, "the document contains a NUL byte; this is not text")
            else:
                documents.add(line, docno, self._text(match[1]))
        return documents.build()

    def _text(self, document: bytes) -> bytes:
        if not self.elements_chosen and b"<text>" not in document.lower():
            return html_text(without_elements(document, _METADATA))
        return without_tags(b"\n".join(element.content for element in elements(document, self.element)))


def html_text(page: bytes) -> bytes:
    """The text of a page outside of tags, comments, scripts and styles."""
    return without_tags(without_elements(page, _INVISIBLE))


def without_tags(markup: bytes) -> bytes:
    """Text without tags, and with characters in place of entities."""
    text = re.sub(rb"<[^<>]*>", b" ", markup)
    if b"&" not in text:
        return text
    import html

    # Python refuses to read a number of thousands of digits; eight of them are above every character.
    text = re.sub(rb"&#(\d{9,})", lambda number: b"&#" + (number[1].lstrip(b"0")[:8] or b"0"), text)
    return encode_text(html.unescape(text.decode("utf-8", "surrogateescape")))


_SEPARATORS = re.compile(rb"[\t-\r ]+")
_GRADE = re.compile(rb"L?([+-]?\d+(?:\.\d*)?)")
_DESCRIPTION = rb"(?is)\s*<SYSDESC>(?:.*?</SYSDESC>[^\n]*|[^\n]*)(?:\n|\Z)"
MAX_DESCRIPTION = 1 << 20


def is_ntcir(stream: Stream, kind: ContentKind, columns: Roles = None) -> bool:
    """Whether judgments have three columns, or a grade such as L2; or whether a run begins with a description."""
    head = stream.head.removeprefix(BOM)
    if kind == "run":
        return head.lstrip()[:9].upper() == b"<SYSDESC>"
    if kind != "qrels" or columns:
        return False
    complete = head[: head.rfind(b"\n") + 1] or head
    lines = [line for line in map(_columns, complete.split(b"\n")) if line and not line[0].startswith(b"#")]
    widths = {len(line) for line in lines}
    if widths == {3}:
        return all(_GRADE.fullmatch(line[2]) for line in lines)
    return widths == {4} and re.fullmatch(rb"L\d+", lines[0][3]) is not None


def _columns(line: bytes) -> list[bytes]:
    return [column for column in _SEPARATORS.split(line) if column]


NTCIR_FIELDS = ("query", "iteration", "document", "grade")  # the second one may be left out
WIDTHS = len(NTCIR_FIELDS) - 1, len(NTCIR_FIELDS)


def read_ntcir_qrels(stream: Stream, name: str, columns: Roles) -> Judgments:
    """The judgments of all lines."""
    reject_columns(columns)
    return read_rows("qrels", lambda: iter([_ntcir_rows(stream)]), name, None, stream.source_name)


def _ntcir_rows(stream: Stream) -> Piece:
    rows: list[list[str]] = []
    lines: list[int] = []
    faults: list[Fault] = []
    width = 0
    for at, columns, line in stream.columns():
        width = width or len(columns)
        if "\0" in line:
            faults.append(Fault(at, "binary", b"", b"", 0))
            break
        if len(columns) != width or width not in WIDTHS:
            kind, text = ("fields", str(width)) if width in WIDTHS else ("columns", line)
            faults.append(Fault(at, kind, b"", fault_text(text), len(columns)))
            continue
        level = _GRADE.fullmatch(columns[-1].encode("utf-8", "surrogateescape"))
        rows.append([*columns[:-1], columns[-1] if level is None else level[1].decode()])
        lines.append(at)
    if not rows and not faults:
        raise no_rows_error(stream.source_name)
    fields = NTCIR_FIELDS if width == len(NTCIR_FIELDS) else (NTCIR_FIELDS[0], *NTCIR_FIELDS[2:])
    return Columns.of_text(fields, rows, np.array(lines, np.int64)), faults


def read_ntcir_run(stream: Stream, name: str, columns: Roles) -> Run:
    """A run that is read when it is joined to judgments."""
    reject_columns(columns)
    return Run(name, partial(_without_description, stream), stream.source_name)


def _without_description(stream: Stream) -> Continued:
    """The text with blank lines in place of its description, so that line numbers stay the same."""
    file, head, buffer = stream.open(), b"", bytearray(HEAD)
    while len(head) < MAX_DESCRIPTION and (count := file.readinto(buffer)):
        head += buffer[:count]
        if b"</SYSDESC>" in head.upper() and head.endswith(b"\n"):
            break
    description = re.match(_DESCRIPTION, head.removeprefix(BOM))
    end = 0 if description is None else description.end() + len(head) - len(head.removeprefix(BOM))
    return Continued(b"\n" * head[:end].count(b"\n") + head[end:], file)


FORMATS = (
    FileFormat(
        "TREC text",
        priority=9,
        recognises=is_table,
        read_run=read_run,
        read_qrels=read_qrels,
        writers={"": write_trec},
        extensions=(".run", ".txt", ".trec", ".res", ".results", ".qrels", ".qrel", ".eval", ".scores", ".out"),
    ),
    SourceFormat("TREC question answering", is_answers, read_run=read_answers, read_qrels=read_answer_judgments),
    FileFormat(
        "TREC <DOC>",
        priority=2,
        recognises=is_sgml,
        read_documents=Sgml,
        document_extensions=(".sgml", ".sgm", ".trec"),
    ),
    FileFormat("NTCIR text", priority=8, recognises=is_ntcir, read_run=read_ntcir_run, read_qrels=read_ntcir_qrels),
)
