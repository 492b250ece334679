"""The code of an algorithm's class, for the keys of its runs: comments and docstrings make no difference."""

from __future__ import annotations

import ast
import functools
import inspect
import io
import tokenize
import warnings

from cwnd import _cwnd
from cwnd._common.errors import error
from cwnd._scenario import headers
from cwnd._scenario.custom import CongestionControl

_SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.ENDMARKER}
_SHAPE = {tokenize.NEWLINE: "\n", tokenize.INDENT: "{", tokenize.DEDENT: "}"}
#: Python 3.12 and later take these strings apart, earlier ones do not.
_BEGINS = {getattr(tokenize, name, None) for name in ("FSTRING_START", "TSTRING_START")}
_ENDS = {getattr(tokenize, name, None) for name in ("FSTRING_END", "TSTRING_END")}
#: Before Python 3.12 a letter with a mark takes a name apart.
_WORDS = {tokenize.NAME, tokenize.ERRORTOKEN}
_PARTS_OF_WORDS = {*_WORDS, tokenize.NUMBER}

#: A line from 1 on, and a character of it from 0 on.
_Place = tuple[int, int]


@functools.lru_cache(maxsize=32)
def class_code(cca: type[CongestionControl]) -> str:
    """The tokens of the source of the class and of those that it is built on.

    The source itself of a class that is not Python by itself; the tokens of a header that it is built on. A
    hash of a header's file.
    """
    if digest := getattr(cca, "DIGEST", None):
        return str(digest)
    parts = []
    for part in cca.__mro__:
        if part is CongestionControl or part.__module__ == headers.__name__:
            break
        try:
            parts.append(source_code(inspect.getsource(part)))
        except (OSError, TypeError):
            if part is cca:
                raise error(cca.__name__, "a class without a source file; define it in a module") from None
    if header := headers.header_of(cca):
        parts.append(_cwnd.header_code(header))
    return "\0".join(parts)


def source_code(source: str) -> str:
    """The tokens of a statement, which may be indented: the same in every version of Python."""
    is_indented = source[:1] in (" ", "\t")
    try:
        code = _tokens(f"if 1:\n{source}\n" if is_indented else f"{source}\n")
    except (SyntaxError, ValueError, tokenize.TokenError):
        return source
    # Without the tokens of `if 1:`, and those around what it has.
    return " ".join(code[5:-1] if is_indented else code)


def _tokens(source: str) -> list[str]:
    lines = source.split("\n")
    docstrings = _docstrings(source, lines)
    code: list[str] = []
    begins: list[_Place] = []  # of the strings that have not ended
    is_behind_docstring = False
    word_end: _Place | None = None  # if the token before is a word
    for kind, text, begin, end, _ in tokenize.generate_tokens(io.StringIO(source).readline):
        if kind in _BEGINS:
            begins.append(begin)
        elif kind in _ENDS:
            kind, begin = tokenize.STRING, begins.pop()
            text = _between(lines, begin, end)
        if begins or kind in _SILENT:
            continue
        if any(first <= begin < last for first, last in docstrings):
            is_behind_docstring = True
            continue
        ends_docstring = is_behind_docstring and (kind == tokenize.NEWLINE or text == ";")
        is_behind_docstring = False
        goes_on = begin == word_end and kind in _PARTS_OF_WORDS
        if goes_on:
            code[-1] += text
        elif not ends_docstring:
            code.append(_SHAPE.get(kind, text))
        word_end = end if goes_on or kind in _WORDS else None
    return code


def _docstrings(source: str, lines: list[str]) -> list[tuple[_Place, _Place]]:
    """The beginning and the end of each docstring."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the import of the class has shown them
        tree = ast.parse(source)
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        first = node.body[0]
        if (
            isinstance(first, ast.Expr)
            and isinstance(first.value, ast.Constant)
            and isinstance(first.value.value, str)
        ):
            assert first.end_lineno is not None and first.end_col_offset is not None
            begin = _place(lines, first.lineno, first.col_offset)
            found.append((begin, _place(lines, first.end_lineno, first.end_col_offset)))
    return found


def _place(lines: list[str], line: int, byte: int) -> _Place:
    return line, len(lines[line - 1].encode()[:byte].decode())


def _between(lines: list[str], begin: _Place, end: _Place) -> str:
    text = lines[begin[0] - 1 : end[0]]
    text[-1] = text[-1][: end[1]]
    text[0] = text[0][begin[1] :]
    return "\n".join(text)
