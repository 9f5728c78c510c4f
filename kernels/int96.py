# mypy: ignore-errors
"""INT96 timestamps (nanoseconds of the day, Julian day) -> int64 counts since 1970-01-01.

Exact: what does not fit int64 is refused, never wrapped. The nanoseconds are signed and may exceed a day.
"""

import numpy as np

from .bits import load_u32, load_u64
from .compiled import block, fail, kernel
from .status import CORRUPT, OK

_EPOCH_DAY = 2440588  # Julian day of 1970-01-01
_DAY_NANOS = 86_400_000_000_000
_LARGEST = (1 << 63) - 1


@block
def convert_instants(raw, count, validity, nanos_per_unit, out):
    """Units since the epoch, rounded down; `nanos_per_unit` divides a day."""
    units_per_day = np.int64(_DAY_NANOS) // nanos_per_unit
    last_day = np.int64(_LARGEST) // units_per_day
    last_unit = np.int64(_LARGEST) - last_day * units_per_day
    # -2**63 is on day -last_day - 1, and that day's first units are below it.
    first_unit = units_per_day - 1 - last_unit
    for i in range(count):
        if validity.shape[0] > 0 and (validity[i >> 6] >> np.uint64(i & 63)) & np.uint64(1) == np.uint64(0):
            out[i] = 0
            continue
        nanos = np.int64(load_u64(raw, i * 12))
        days = np.int64(0)
        if nanos < 0 or nanos >= _DAY_NANOS:
            days = nanos // np.int64(_DAY_NANOS)
            nanos = nanos % np.int64(_DAY_NANOS)
        unit = nanos // nanos_per_unit  # 0 .. units_per_day - 1
        days += np.int64(np.int32(load_u32(raw, i * 12 + 8))) - _EPOCH_DAY
        if days > last_day or (days == last_day and unit > last_unit):
            return fail(np.int64(CORRUPT), i)
        if days < -last_day - 1 or (days == -last_day - 1 and unit < first_unit):
            return fail(np.int64(CORRUPT), i)
        if days < 0:  # from the end of the day, so that no step goes below -2**63
            out[i] = (days + 1) * units_per_day + (unit - units_per_day)
        else:
            out[i] = days * units_per_day + unit
    return np.int64(OK)


@kernel
def to_nanoseconds(raw, count, validity, out):
    """`count` values of 12 bytes in `raw` (uint8) -> `out` (int64), null slots 0; OK or `fail(CORRUPT, i)` for value i.

    Empty `validity`: no nulls.
    """
    return convert_instants(raw, count, validity, np.int64(1), out)


@kernel
def to_microseconds(raw, count, validity, out):
    """As `to_nanoseconds`, in microseconds rounded down: reaches 292 000 years instead of 292."""
    return convert_instants(raw, count, validity, np.int64(1000), out)
