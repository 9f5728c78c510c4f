"""The bound predicate: what `bind` makes of a user's predicate, and what pruning and kernels work from.

Every test of one column, whatever its operators, is a set of intervals in the order of that column plus the answer for
null. `x > 3`, `x in (1, 2)`, `starts_with(x, 'a')` and any AND, OR and NOT of such tests on one column then take the
same few code paths: a row passes when the key of its value lies in an interval.
"""

from __future__ import annotations

import math
import struct
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hardwood_jit.metadata.schema import Leaf

Key = Any  # int or bytes; all keys of one domain have one type

FEW_KEYS = 10_000  # each costs some microseconds to be hashed, once per scan
FEW_NEIGHBOURS = 64  # a longer range of numbers is a range

_FLOAT_FORMAT = {16: ("<e", "<h"), 32: ("<f", "<i"), 64: ("<d", "<q")}


@dataclass(frozen=True, slots=True)
class Domain:
    """How stored values of a leaf compare: which kind of key stands for a value.

    | kind          | stored as                    | key                                                     |
    |---------------|------------------------------|---------------------------------------------------------|
    | boolean       | BOOLEAN                      | 0 or 1                                                  |
    | signed        | INT32, INT64                 | the number                                              |
    | unsigned      | INT32, INT64                 | the number, its bits read unsigned                      |
    | float         | FLOAT, DOUBLE, FLBA(2)       | `float_key`: an int in the order of Java's Double.compare |
    | bytes         | BYTE_ARRAY, FLBA, INT96      | the bytes, unsigned lexicographic                       |
    | decimal       | BYTE_ARRAY, FLBA             | the unscaled number                                     |
    | instant       | INT96                        | nanoseconds since 1970-01-01                            |
    """

    kind: str
    bits: int = 0  # of boolean (1), signed, unsigned and float


def float_key(value: float, bits: int) -> int:
    """The rank of a float: -0.0 below +0.0, all NaN equal and above +inf. `value` is storable in `bits` bits.

    >>> from hardwood_jit.plan.bound import float_key
    >>> float_key(-0.0, 64), float_key(0.0, 64), float_key(float("nan"), 32) == 2**31 - 1
    (-1, 0, True)
    """
    if math.isnan(value):
        return (1 << (bits - 1)) - 1
    as_float, as_int = _FLOAT_FORMAT[bits]
    (stored,) = struct.unpack(as_int, struct.pack(as_float, value))
    number = int(stored)
    return number if number >= 0 else number ^ ((1 << (bits - 1)) - 1)


def successor(key: Key) -> Key:
    """The smallest key above `key`."""
    return key + b"\0" if isinstance(key, bytes) else key + 1


@dataclass(frozen=True, slots=True)
class Intervals:
    """Sorted, disjoint, non-empty, not touching half-open intervals [low, high); None is no bound on that side.

    >>> from hardwood_jit.plan.bound import Intervals
    >>> Intervals.point(5).union(Intervals.below(3)).complement().pairs
    ((3, 5), (6, None))
    """

    pairs: tuple[tuple[Key, Key], ...]

    @classmethod
    def nothing(cls) -> Intervals:
        return cls(())

    @classmethod
    def everything(cls) -> Intervals:
        return cls(((None, None),))

    @classmethod
    def below(cls, key: Key) -> Intervals:
        return cls(((None, key),))

    @classmethod
    def at_least(cls, key: Key) -> Intervals:
        return cls(((key, None),))

    @classmethod
    def between(cls, low: Key, high: Key) -> Intervals:
        """[low, high); empty when that is."""
        return cls(((low, high),)) if low < high else cls(())

    @classmethod
    def point(cls, key: Key) -> Intervals:
        return cls(((key, successor(key)),))

    @classmethod
    def points(cls, keys: Iterable[Key]) -> Intervals:
        return cls.of([(key, successor(key)) for key in keys])

    @classmethod
    def of(cls, pairs: Iterable[tuple[Key, Key]]) -> Intervals:
        """Sort and merge; empty intervals vanish."""
        merged: list[tuple[Key, Key]] = []
        for low, high in sorted(pairs, key=lambda pair: (pair[0] is not None, pair[0])):
            if low is not None and high is not None and high <= low:
                continue
            if merged and (merged[-1][1] is None or low is None or low <= merged[-1][1]):
                last = merged[-1]
                merged[-1] = (last[0], None if last[1] is None or high is None else max(last[1], high))
            else:
                merged.append((low, high))
        return cls(tuple(merged))

    def __bool__(self) -> bool:
        return bool(self.pairs)

    @property
    def is_everything(self) -> bool:
        return self.pairs == ((None, None),)

    def contains(self, key: Key) -> bool:
        number = bisect_left(self.pairs, True, key=lambda pair: pair[0] is not None and pair[0] > key) - 1
        return number >= 0 and (self.pairs[number][1] is None or key < self.pairs[number][1])

    def meets(self, low: Key, high: Key) -> bool:
        """Whether some key of low .. high, both included, is inside; None is no bound on that side."""
        if high is None:
            number = len(self.pairs) - 1
        else:
            number = bisect_left(self.pairs, True, key=lambda pair: pair[0] is not None and pair[0] > high) - 1
        return number >= 0 and (low is None or self.pairs[number][1] is None or low < self.pairs[number][1])

    def covers(self, low: Key, high: Key) -> bool:
        """Whether every key of low .. high, both included, is inside; None is no bound on that side."""
        if low is None:
            number = 0 if self.pairs and self.pairs[0][0] is None else -1
        else:
            number = bisect_left(self.pairs, True, key=lambda pair: pair[0] is not None and pair[0] > low) - 1
        if number < 0:
            return False
        end = self.pairs[number][1]
        return end is None or (high is not None and high < end)

    def complement(self) -> Intervals:
        out: list[tuple[Key, Key]] = []
        low: Key = None
        for start, stop in self.pairs:
            if start is not None:
                out.append((low, start))
            low = stop
            if stop is None:
                return Intervals(tuple(out))
        out.append((low, None))
        return Intervals(tuple(out))

    def union(self, other: Intervals) -> Intervals:
        return Intervals.of(self.pairs + other.pairs)

    def intersect(self, other: Intervals) -> Intervals:
        out: list[tuple[Key, Key]] = []
        i = j = 0
        while i < len(self.pairs) and j < len(other.pairs):
            (a, b), (c, d) = self.pairs[i], other.pairs[j]
            low = c if a is None else a if c is None else max(a, c)
            high = d if b is None else b if d is None else min(b, d)
            if low is None or high is None or low < high:
                out.append((low, high))
            if d is None or (b is not None and b < d):
                i += 1
            else:
                j += 1
        return Intervals(tuple(out))

    def single_keys(self) -> tuple[Key, ...] | None:
        """The keys, when every interval holds exactly one; else None."""
        keys = tuple(low for low, high in self.pairs if low is not None and high == successor(low))
        return keys if len(keys) == len(self.pairs) else None


    def few_keys(self) -> tuple[Key, ...] | None:
        """All keys inside, when they are few enough to be asked for one by one; neighbouring numbers are one interval.

        >>> from hardwood_jit.plan.bound import Intervals
        >>> Intervals.points([3, 4, 9]).few_keys(), Intervals.below(3).few_keys()
        ((3, 4, 9), None)
        """
        keys: list[Key] = []
        for low, high in self.pairs:
            if low is None or high is None:
                return None
            if high == successor(low):
                keys.append(low)
            elif isinstance(low, bytes) or high - low > FEW_NEIGHBOURS:
                return None
            else:
                keys += range(low, high)
            if len(keys) > FEW_KEYS:
                return None
        return tuple(keys)


@dataclass(frozen=True, slots=True)
class ValueTest:
    """One leaf: true where the key of its value lies in `intervals`, and where it is null if `null_matches`.

    Below repeated fields `quantifier` is "any" (some element passes) or "all" (the list is not null and every element
    passes); elements are leaf slots, an empty list has none.
    """

    leaf: Leaf
    domain: Domain
    intervals: Intervals
    null_matches: bool
    quantifier: str | None
    text: str

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        return (self.leaf,)


@dataclass(frozen=True, slots=True)
class PairTest:
    """Two leaves of one kind: true where left * left_factor `op` right * right_factor, and neither is null.

    One of the factors is 1; the other aligns units of time or scales of decimals.
    """

    left: Leaf
    op: str  # "eq", "ne", "lt", "le", "gt", "ge"
    right: Leaf
    left_domain: Domain
    right_domain: Domain
    left_factor: int
    right_factor: int
    text: str

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        return (self.left, self.right) if self.left.index != self.right.index else (self.left,)


@dataclass(frozen=True, slots=True)
class GroupTest:
    """A group: is it null (or not, by `wants_null`)? Layer number `layer` of `leaf`, a leaf below it, knows."""

    leaf: Leaf
    layer: int
    wants_null: bool
    text: str

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        return (self.leaf,)


@dataclass(frozen=True, slots=True)
class Fixed:
    """The same answer for every row."""

    value: bool
    text: str

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part is true."""

    args: tuple[Node, ...]
    text: str

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        return _leaves_of(self.args)


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Some part is true."""

    args: tuple[Node, ...]
    text: str

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        return _leaves_of(self.args)


Node = ValueTest | PairTest | GroupTest | Fixed | AllOf | AnyOf


def _leaves_of(args: Iterable[Node]) -> tuple[Leaf, ...]:
    found: dict[int, Leaf] = {}
    for arg in args:
        for leaf in arg.leaves:
            found.setdefault(leaf.index, leaf)
    return tuple(found.values())


@dataclass(frozen=True, slots=True)
class BoundPredicate:
    """Conjuncts: a row passes when all of them are true. NOT is pushed to the leaves, one bit per row is enough.

    Tests of one column without a quantifier are merged into one conjunct. A predicate that no row can pass is
    (Fixed(False),); one that every row passes has no conjuncts.
    """

    conjuncts: tuple[Node, ...]
    text: str

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        return _leaves_of(self.conjuncts)
