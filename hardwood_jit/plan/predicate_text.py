"""Text form of predicates: `parse` reads it, `render` writes it, and `parse(render(p)) == p`.

    age > 21 and (city in ('NYC', 'LA') or not name is null) and when >= timestamp('2025-01-01T00:00:00Z')

Words are case-insensitive; blanks and line ends may stand between any two of the parts below, inside none of them.

    predicate   = conjunction { "or" conjunction } ;
    conjunction = negation { "and" negation } ;
    negation    = { "not" } ( "(" predicate ")" | condition ) ;
    condition   = column                                      (* a BOOLEAN: column = true *)
                | column comparison ( literal | column )
                | literal comparison column
                | column [ "not" ] "in" "(" [ literal { "," literal } ] ")"
                | column [ "not" ] "between" literal "and" literal
                | column "is" [ "not" ] "null"
                | "starts_with" "(" column "," ( text | bytes ) ")" ;
    comparison  = "=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">=" ;

    column      = path | ( "any" | "all" | "raw" ) "(" column ")" | "exact" "(" path ")" ;
    path        = part { "." part } ;
    part        = bare | quoted ;
    bare        = letter or "_", then letters, digits or "_"  (* of any script *) ;
    quoted      = '"' { any character, a double quote written twice } '"' ;

    literal     = "true" | "false" | number | text | bytes
                | ( "date" | "time" | "timestamp" | "decimal" | "uuid" ) "(" text ")" ;
    number      = [ sign ] ( integer | float | "inf" | "nan" ) ;
    integer     = digits | "0x" hexadecimal digits ;
    float       = ( digits "." [ digits ] | "." digits ) [ exponent ] | digits exponent ;
    exponent    = ( "e" | "E" ) [ sign ] digits ;
    sign        = "+" | "-" ;
    text        = "'" { any character, a quote written twice } "'" ;
    bytes       = "b'" { printable ASCII, a quote written twice | escape } "'" ;
    escape      = "\\x" two hexadecimal digits | "\\\\" | "\\'" | "\\n" | "\\r" | "\\t" ;

A path stands for what `col` takes:

| text | column |
|---|---|
| `address.city` | `col("address.city")`: bare parts are one dotted name |
| `"unit price"`, `"items.unit price"` | `col("unit price")`, `col("items.unit price")`: quoted as a whole |
| `"a.b"."c"`, `"a.b".c` | `col(("a.b", "c"))`: several parts, one or more of them quoted, are exact |
| `exact("a.b")`, `exact(a.b)` | `col(("a.b",))`, `col(("a", "b"))` |

The words and, or, not, in, is, null, between, true, false, inf and nan are names only in quotes. The words before a
parenthesis (any, date, …) are names anywhere else.

The text inside `date` is `2025-01-31`, inside `time` `12:30[:59[.123456]]`. Inside `timestamp` it is a date, alone or
with `T` or a blank and a time with up to nine digits of fraction, and for a point in time `Z` or an offset such as
`+02:00`; years beyond four digits carry a sign. A timestamp becomes a `datetime`, or an `Instant` where a `datetime`
cannot hold it.
"""

from __future__ import annotations

import datetime
import math
import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Context, Decimal, InvalidOperation
from typing import Any, NamedTuple

from hardwood_jit.errors import PredicateError
from hardwood_jit.plan.predicate import (
    And,
    Between,
    Col,
    Compare,
    ComparePair,
    Instant,
    IsIn,
    IsNotNull,
    IsNull,
    LiteralValue,
    Not,
    Or,
    Predicate,
    PredicateTypeError,
    StartsWith,
    all_of,
    any_of,
    date_of_days,
    days_since_epoch,
    is_aware,
    moment_of,
    nanoseconds_of,
)

_SYMBOLS = {"eq": "=", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_OPERATORS = {symbol: op for op, symbol in _SYMBOLS.items()} | {"==": "eq", "<>": "ne"}
_MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_WORD_LITERALS = {"true": True, "false": False}
_RESERVED = {"and", "or", "not", "in", "is", "null", "between", "true", "false", "inf", "nan"}

_BARE = r"[^\W\d]\w*"
_QUOTED = r'"[^"]*(?:""[^"]*)*"'
_PART = rf"(?:{_BARE}|{_QUOTED})"
_TOKEN = re.compile(
    rf"""(?P<bytes>[bB]'[^'\\]*(?:(?:\\.|'')[^'\\]*)*')
    |(?P<text>'[^']*(?:''[^']*)*')
    |(?P<number>[+-]?(?:0[xX][0-9a-fA-F]+|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf|nan))(?![\w.]))
    |(?P<name>{_PART}(?:\.{_PART})*)
    |(?P<symbol>[<>=!]=|<>|[=<>(),])""",
    re.VERBOSE | re.DOTALL,
)
_BLANKS = re.compile(r"\s*")
_CALL = re.compile(r"\s*\(")
_DOTTED = re.compile(rf"{_BARE}(?:\.{_BARE})*")
_EACH_PART = re.compile(_PART)

_CLOCK = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]{1,9}))?)?"
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(_CLOCK)
_TIMESTAMP = re.compile(
    r"(?P<year>[0-9]{4}|[+-][0-9]{4,})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    rf"(?:[T ]{_CLOCK}(?P<zone>Z|[+-][0-9]{{2}}:?[0-9]{{2}})?)?"
)
_DECIMAL = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf(?:inity)?|s?nan[0-9]*))")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}")


# Writing


def render(predicate: Predicate) -> str:
    """The text of a predicate, which `parse` turns back into an equal one."""
    match predicate:
        case Compare(column, op, literal):
            return f"{render_column(column)} {_SYMBOLS[op]} {render_literal(literal)}"
        case ComparePair(left, op, right):
            return f"{render_column(left)} {_SYMBOLS[op]} {render_column(right)}"
        case IsIn(column, literals):
            return f"{render_column(column)} in {_render_list(literals)}"
        case Between(column, low, high):
            return f"{render_column(column)} between {render_literal(low)} and {render_literal(high)}"
        case IsNull(column):
            return f"{render_column(column)} is null"
        case IsNotNull(column):
            return f"{render_column(column)} is not null"
        case StartsWith(column, prefix):
            return f"starts_with({render_column(column)}, {render_literal(prefix)})"
        case Not(IsIn(column, literals)):
            return f"{render_column(column)} not in {_render_list(literals)}"
        case Not(Between(column, low, high)):
            return f"{render_column(column)} not between {render_literal(low)} and {render_literal(high)}"
        case Not(arg):
            return f"not {_render_operand(arg)}"
        case And(args):
            return " and ".join([_render_operand(arg) for arg in args])
        case Or(args):
            return " or ".join([_render_operand(arg) for arg in args])
    raise PredicateTypeError(f"{type(predicate).__name__} has no text")


def _render_operand(predicate: Predicate) -> str:
    text = render(predicate)
    return f"({text})" if isinstance(predicate, And | Or) else text


def _render_list(literals: tuple[LiteralValue, ...]) -> str:
    return f"({', '.join([render_literal(literal) for literal in literals])})"


def render_column(column: Col) -> str:
    """The text of a column reference, as it stands in the text of a predicate."""
    text = _render_path(column.path)
    if column.is_raw:
        text = f"raw({text})"
    return f"{column.quantifier}({text})" if column.quantifier else text


def _render_path(path: str | tuple[str, ...]) -> str:
    if isinstance(path, str):
        bare = _DOTTED.fullmatch(path) and path.lower() not in _RESERVED
        return path if bare else _quoted(path)
    parts = ".".join([_quoted(name) for name in path])
    return f"exact({parts})" if len(path) == 1 else parts


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def render_literal(literal: LiteralValue) -> str:
    """The text of a literal that a node holds."""
    return _RENDERERS[type(literal)](literal)


def _render_integer(value: int) -> str:
    # Python refuses to print more than 640 digits under its strictest setting; hexadecimal ones have no limit.
    return str(value) if value.bit_length() <= 2048 else hex(value)


def _render_text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


_BYTES = {byte: chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02x}" for byte in range(256)}
_BYTES |= {ord("'"): "''", ord("\\"): "\\\\"}


def _render_bytes(value: bytes) -> str:
    return "b'" + "".join([_BYTES[byte] for byte in value]) + "'"


def _render_moment(value: datetime.datetime | Instant) -> str:
    seconds, fraction = divmod(nanoseconds_of(value), 10**9)
    days, second_of_day = divmod(seconds, 86_400)
    year, month, day = date_of_days(days)
    minutes, second = divmod(second_of_day, 60)
    hour, minute = divmod(minutes, 60)
    year_text = f"{year:04d}" if 0 <= year <= 9999 else f"{year:+05d}"
    fraction_text = f".{fraction:09d}".removesuffix("000").removesuffix("000") if fraction else ""
    zone = "Z" if is_aware(value) else ""
    return f"timestamp('{year_text}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}{fraction_text}{zone}')"


_RENDERERS: dict[type, Callable[[Any], str]] = {
    bool: lambda value: "true" if value else "false",
    int: _render_integer,
    float: repr,
    str: _render_text,
    bytes: _render_bytes,
    Decimal: lambda value: f"decimal('{value}')",
    datetime.date: lambda value: f"date('{value.isoformat()}')",
    datetime.time: lambda value: f"time('{value.isoformat()}')",
    datetime.datetime: _render_moment,
    Instant: _render_moment,
    uuid.UUID: lambda value: f"uuid('{value}')",
}


# Reading


def parse(text: str) -> Predicate:
    """The predicate that a text stands for; `parse(str(p)) == p` for every predicate p.

    >>> from hardwood_jit.plan.predicate import col
    >>> from hardwood_jit.plan.predicate_text import parse
    >>> parse("age > 21 and city in ('Delft', 'Évora')") == (col("age") > 21) & col("city").is_in(["Delft", "Évora"])
    True
    >>> parse("age > 21 and and vip")
    Traceback (most recent call last):
    hardwood_jit.errors.PredicateError: predicate text, position 14: found 'and', expected a column or a literal
      age > 21 and and vip
                   ^
    """
    if not isinstance(text, str):
        raise PredicateTypeError(f"parse() takes text, not {type(text).__name__}; filter() takes the other forms")
    return _Parser(text).predicate()


class _Token(NamedTuple):
    kind: str  # "name", "text", "bytes", "number", "symbol", "end", or "word" for a reserved one
    source: str
    start: int

    @property
    def word(self) -> str:
        """What a word or symbol is compared by."""
        return self.source.lower() if self.kind in ("word", "symbol") else ""


class _OpenGroup:
    """A predicate whose end is not read yet: what stands in one pair of parentheses, or the whole text."""

    def __init__(self) -> None:
        self.alternatives: list[Predicate] = []  # between `or`
        self.factors: list[Predicate] = []  # between `and`, of the alternative being read
        self.negations = 0  # `not` words before the factor being read


class _Parser:
    """One token of look-ahead. Groups are kept on a list, because a text may nest deeper than Python calls."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.token = self._token_at(0)

    def predicate(self) -> Predicate:
        outer: list[_OpenGroup] = []
        group = _OpenGroup()
        while True:
            if self._take("not"):
                group.negations += 1
                continue
            if self._take("("):
                outer.append(group)
                group = _OpenGroup()
                continue
            read = self._condition()
            while True:  # as often as a group ends behind what was read
                for _ in range(group.negations):
                    read = self._built(Not, read)
                group.negations = 0
                group.factors.append(read)
                if self._take("and"):
                    break
                group.alternatives.append(self._built(all_of, group.factors))
                group.factors = []
                if self._take("or"):
                    break
                read = self._built(any_of, group.alternatives)
                if not outer:
                    if self.token.kind != "end":
                        raise self._unexpected(self._after_condition("the end"))
                    return read
                self._expect(")", self._after_condition(")"))
                group = outer.pop()

    def _built(self, build: Callable[[Any], Predicate], parts: object) -> Predicate:
        with self._located(self.token):
            return build(parts)

    def _after_condition(self, end: str) -> str:
        hint = "; for a range write `x between 1 and 5`" if self.token.word in _OPERATORS else ""
        return f"an operator, and, or, or {end}{hint}"

    def _condition(self) -> Predicate:
        if self._is_call("starts_with"):
            self._open_call()
            column = self._column()
            self._expect(",", "a comma and the prefix")
            start = self.token.start
            prefix = self._literal("a prefix: 'text' or b'bytes'")
            if not isinstance(prefix, str | bytes):
                raise self._fault(start, "a prefix is 'text' or b'bytes'")
            self._expect(")", ")")
            return StartsWith(column, prefix)
        if self.token.kind == "name" and not self._is_call(*_CALLED_LITERALS):
            return self._condition_on(self._column())
        literal = self._literal("a column or a literal")
        op = self._comparison()
        if op is None:
            raise self._unexpected("a comparison (= != < <= > >=) of the literal with a column")
        if self.token.kind != "name" or self._is_call(*_CALLED_LITERALS):
            raise self._unexpected("a column: one side of a comparison is a column")
        return Compare(self._column(), _MIRRORED[op], literal)

    def _condition_on(self, column: Col) -> Predicate:
        op = self._comparison()
        if op is not None:
            if self.token.kind == "name" and not self._is_call(*_CALLED_LITERALS):
                return ComparePair(column, op, self._column())
            return Compare(column, op, self._literal("a literal or a column"))
        if self._take("is"):
            negated = self._take("not")
            self._expect("null", "null" if negated else "null or not null")
            return IsNotNull(column) if negated else IsNull(column)
        negated = self._take("not")
        found: Predicate
        if self._take("in"):
            found = IsIn(column, self._list())
        elif self._take("between"):
            low = self._literal()
            self._expect("and", "and with the upper end")
            found = Between(column, low, self._literal())
        elif negated:
            raise self._unexpected("in or between")
        else:
            return Compare(column, "eq", True)
        return Not(found) if negated else found

    def _comparison(self) -> str | None:
        op = _OPERATORS.get(self.token.word)
        if op is not None:
            self._advance()
        return op

    def _list(self) -> tuple[LiteralValue, ...]:
        self._expect("(", "( and a list of literals")
        literals: list[LiteralValue] = []
        if self._take(")"):
            return ()
        while True:
            literals.append(self._literal())
            if self._take(")"):
                return tuple(literals)
            self._expect(",", "a comma or )")

    def _column(self) -> Col:
        wrappers: list[_Token] = []
        while self._is_call("any", "all", "raw"):
            wrappers.append(self.token)
            self._open_call()
        exact = self._is_call("exact")
        if exact:
            self._open_call()
        if self.token.kind != "name":
            raise self._unexpected("a column")
        if self._is_call():
            known = ", ".join(["any", "all", "raw", "exact", "starts_with", *_CALLED_LITERALS])
            raise self._unexpected(f"a column or one of {known} before (")
        column = Col(_path_of(self.token.source, exact))
        self._advance()
        if exact:
            self._expect(")", ")")
        for wrapper in reversed(wrappers):
            with self._located(wrapper):
                kind = wrapper.source.lower()
                column = column.raw if kind == "raw" else column.any() if kind == "any" else column.all()
            self._expect(")", ")")
        return column

    def _literal(self, expected: str = "a literal") -> LiteralValue:
        token = self.token
        if token.word == "null":
            raise self._fault(token.start, "found null, which equals nothing: write `is null` or `is not null`")
        if token.word in _WORD_LITERALS:
            self._advance()
            return _WORD_LITERALS[token.word]
        if token.kind in _PLAIN_LITERALS:
            with self._located(token):
                literal = _PLAIN_LITERALS[token.kind](token.source)
            self._advance()
            return literal
        if not self._is_call(*_CALLED_LITERALS):
            raise self._unexpected(expected)
        self._open_call()
        argument = self.token
        if argument.kind != "text":
            raise self._unexpected(f"text in quotes, as in {token.source}('…')")
        with self._located(argument):
            literal = _CALLED_LITERALS[token.source.lower()](_text_of(argument.source))
        self._advance()
        self._expect(")", ")")
        return literal

    def _is_call(self, *words: str) -> bool:
        """Whether one of these words (or any name) stands here before a parenthesis."""
        token = self.token
        if token.kind != "name" or (words and token.source.lower() not in words):
            return False
        return _CALL.match(self.text, token.start + len(token.source)) is not None

    def _open_call(self) -> None:
        self._advance()
        self._advance()

    def _take(self, word: str) -> bool:
        if self.token.word != word:
            return False
        self._advance()
        return True

    def _expect(self, word: str, expected: str) -> None:
        if not self._take(word):
            raise self._unexpected(expected)

    def _advance(self) -> None:
        self.token = self._token_at(self.token.start + len(self.token.source))

    def _token_at(self, position: int) -> _Token:
        blanks = _BLANKS.match(self.text, position)
        start = blanks.end() if blanks else position
        found = _TOKEN.match(self.text, start)
        if found is not None and found.lastgroup is not None:
            source = found.group()
            kind = "word" if found.lastgroup == "name" and source.lower() in _RESERVED else found.lastgroup
            return _Token(kind, source, start)
        if start == len(self.text):
            return _Token("end", "", start)
        raise self._fault(start, _unreadable(self.text, start))

    def _unexpected(self, expected: str) -> PredicateError:
        found = "the end" if self.token.kind == "end" else repr(_clipped(self.token.source))
        return self._fault(self.token.start, f"found {found}, expected {expected}")

    @contextmanager
    def _located(self, token: _Token) -> Iterator[None]:
        """Errors of building a node or a literal get the place of a token."""
        try:
            yield
        except (ValueError, InvalidOperation, OverflowError) as error:
            raise self._fault(token.start, str(error)) from None

    def _fault(self, start: int, message: str) -> PredicateError:
        line_start = self.text.rfind("\n", 0, start) + 1
        line_end = self.text.find("\n", start)
        line = self.text[line_start : line_end if line_end >= 0 else len(self.text)]
        place = f"position {start - line_start + 1}"
        if "\n" in self.text:
            place = f"line {self.text.count(chr(10), 0, start) + 1}, {place}"
        first = max(0, start - line_start - 60)
        before = ("…" if first else "") + line[first : start - line_start]
        after = line[start - line_start : start - line_start + 40]
        shown = "".join([c if c.isprintable() else " " for c in before + after])
        return PredicateError(f"predicate text, {place}: {message}\n  {shown}\n  {' ' * len(before)}^")


def _clipped(source: str) -> str:
    return source if len(source) <= 40 else source[:39] + "…"


_MEANT = {
    "'": "text that starts here has no closing quote",
    '"': "a name that starts here has no closing double quote",
    "&": "found '&', expected the word and",
    "|": "found '|', expected the word or",
    "~": "found '~', expected the word not",
    "!": "found '!', expected != or the word not",
    "`": "found '`', expected double quotes around a name",
}


def _unreadable(text: str, start: int) -> str:
    if text[start] in _MEANT:
        return _MEANT[text[start]]
    chunk = re.compile(r"[\w.+-]*").match(text, start)
    found = (chunk.group() if chunk else "") or text[start]
    hint = "; a name that starts with a digit stands in double quotes" if text[start].isdigit() else ""
    return f"found {_clipped(found)!r}, which is no name, number, text or operator{hint}"


def _path_of(source: str, exact: bool) -> str | tuple[str, ...]:
    if not exact and '"' not in source:
        return source
    parts = [_unquoted(part) if part[0] == '"' else part for part in _EACH_PART.findall(source)]
    return parts[0] if len(parts) == 1 and not exact else tuple(parts)


def _unquoted(source: str) -> str:
    return source[1:-1].replace('""', '"')


def _text_of(source: str) -> str:
    return source[1:-1].replace("''", "'")


_ESCAPE = re.compile(r"''|\\x([0-9a-fA-F]{2})|\\(.)", re.DOTALL)
_ESCAPED = {"\\": "\\", "'": "'", "n": "\n", "r": "\r", "t": "\t"}


def _bytes_of(source: str) -> bytes:
    def unescaped(found: re.Match[str]) -> str:
        digits, letter = found.groups()
        if digits is not None:
            return chr(int(digits, 16))
        if letter is not None and letter not in _ESCAPED:
            raise ValueError(f"unknown escape \\{letter} in bytes; write \\xNN, or \\\\ for a backslash")
        return "'" if letter is None else _ESCAPED[letter]

    if not source.isascii():
        raise ValueError("bytes are written in ASCII; write others as \\xNN")
    return _ESCAPE.sub(unescaped, source[2:-1]).encode("latin-1")


def _number_of(source: str) -> int | float:
    digits = source.lstrip("+-")
    if digits[:2] in ("0x", "0X"):
        return int(source, 16)
    if digits.isdigit():
        try:
            return int(source)
        except ValueError:
            raise ValueError(f"an integer of {len(digits)} digits is too long; write it in hexadecimal: 0x…") from None
    value = float(source)
    too_large = math.isinf(value) and digits.lower() != "inf"
    too_small = value == 0 and re.match(r"[0.]*[1-9]", digits)
    if too_large or too_small:
        raise ValueError(f"{_clipped(source)} is beyond a float; write decimal('{_clipped(source)}'), inf or 0.0")
    return value


def _matched(pattern: re.Pattern[str], text: str, example: str) -> re.Match[str]:
    found = pattern.fullmatch(text)
    if found is None:
        raise ValueError(f"found {_clipped(text)!r}, expected it as in {example}")
    return found


def _clock_of(found: re.Match[str]) -> tuple[datetime.time, int]:
    """The time of day in whole seconds, and nanoseconds."""
    hour, minute, second = [int(found[part] or 0) for part in ("hour", "minute", "second")]
    return datetime.time(hour, minute, second), int((found["fraction"] or "0").ljust(9, "0"))


def _date_of(text: str) -> datetime.date:
    return datetime.date.fromisoformat(_matched(_DATE, text, "date('2025-01-31')").group())


def _time_of(text: str) -> datetime.time:
    clock, nanoseconds = _clock_of(_matched(_TIME, text, "time('12:30:59.123456')"))
    if nanoseconds % 1000:
        raise ValueError("a time has microseconds; compare nanoseconds with raw(column)")
    return clock.replace(microsecond=nanoseconds // 1000)


def _timestamp_of(text: str) -> datetime.datetime | Instant:
    found = _matched(_TIMESTAMP, text, "timestamp('2025-01-31T12:30:59.123456789Z')")
    seconds = days_since_epoch(int(found["year"]), int(found["month"]), int(found["day"])) * 86_400
    clock, nanoseconds = _clock_of(found)
    seconds += clock.hour * 3600 + clock.minute * 60 + clock.second
    zone = found["zone"]
    if zone not in (None, "Z"):
        offset = datetime.time(int(zone[1:3]), int(zone[-2:]))
        seconds -= (1 if zone[0] == "+" else -1) * (offset.hour * 3600 + offset.minute * 60)
    return moment_of(seconds * 10**9 + nanoseconds, aware=zone is not None)


def _decimal_of(text: str) -> Decimal:
    # A context of our own: in the caller's, a number out of range might silently become NaN.
    return Decimal(_matched(_DECIMAL, text, "decimal('12.50')").group(), Context(traps=[InvalidOperation]))


def _uuid_of(text: str) -> uuid.UUID:
    return uuid.UUID(_matched(_UUID, text, "uuid('12345678-1234-5678-1234-567812345678')").group())


_PLAIN_LITERALS: dict[str, Callable[[str], LiteralValue]] = {
    "number": _number_of,
    "text": _text_of,
    "bytes": _bytes_of,
}
_CALLED_LITERALS: dict[str, Callable[[str], LiteralValue]] = {
    "date": _date_of,
    "time": _time_of,
    "timestamp": _timestamp_of,
    "decimal": _decimal_of,
    "uuid": _uuid_of,
}
