"""Decimal numbers out of bytes, correctly rounded to double precision.

A number is written m 10^q with whole m and q. Three ways, from quick to slow; each gives the double nearest to the
number written, ties to even, or hands over to the next:

    m <= 2^53 and |q| <= 22     both m and 10^|q| are doubles, so that one multiplication or division rounds once
    m < 2^64, -342 <= q <= 308  m times the first 128 bits of 5^q; the product has enough bits to round, but for rare
                                cases that it recognises (Lemire, Number parsing at a gigabyte per second, 2021)
    anything else               the caller reads the text with exact arithmetic

Of more than 19 digits the first 19 are m; the rest lies between m and m + 1, and when both round to the same double so
does the number.

All whole numbers are unsigned 64-bit in here, because the compiler takes a mixture of signs for a signed number. They
may wrap around: a byte below "0" becomes a digit beyond 9, and of too many digits m is read again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._loops.compiling import Function, loop

PLUS, MINUS, POINT, SMALL_E, CAPITAL_E = b"+-.eE"  # as numbers: compiled loops would look letters up each time
NUMBER, SLOW_NUMBER, NOT_A_NUMBER = 0, 1, 2

_LEAST_POWER, _MOST_POWER = -342, 308
_MOST_DIGITS = 19
_ZERO, _ONE, _THREE, _TEN = np.uint64(0), np.uint64(1), np.uint64(3), np.uint64(10)
_32, _63, _LOW_HALF = np.uint64(32), np.uint64(63), np.uint64(0xFFFFFFFF)
_ALL_BITS, _LOW_NINE = np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(0x1FF)
_TWO_53 = np.uint64(1 << 53)
_SIGNIFICANT = np.uint64(9)  # of 64 bits 55 are kept at first: 53, one to round by, and the leading one may be 0
_TINY_EXPONENT, _HUGE_EXPONENT = -1022, 1023


def _powers_of_five() -> tuple[Any, Any]:
    """First 128 bits of 5^q in two halves; of a negative power rounded up, so that products err to one side only."""
    first = []
    for q in range(_LEAST_POWER, _MOST_POWER + 1):
        power = 5 ** abs(q)
        length = power.bit_length()
        first.append((power << 128) >> length if q >= 0 else -(-(1 << (length + 127)) // power))
    high, low = [bits >> 64 for bits in first], [bits & 0xFFFFFFFFFFFFFFFF for bits in first]
    return np.array(high, dtype=np.uint64), np.array(low, dtype=np.uint64)


_FIVES_HIGH, _FIVES_LOW = _powers_of_five()
_TENS = 10.0 ** np.arange(23)
_TWOS = np.ldexp(1.0, np.arange(-1074, 972))  # every double is a whole number below 2^53 times one of these


def wrapping_loop(function: Function) -> Function:
    """Like `loop`, for numbers that may overflow: interpreted, they do so as silently as compiled."""
    compiled = loop(function)
    is_interpreted = compiled is function  # as Numba leaves it where it is told not to compile
    return np.errstate(over="ignore")(function) if is_interpreted else compiled


@loop
def _product(a: Any, b: Any) -> Any:
    """Upper and lower half of the 128-bit product."""
    a_high, a_low, b_high, b_low = a >> _32, a & _LOW_HALF, b >> _32, b & _LOW_HALF
    low = a_low * b_low
    middle = a_high * b_low + (low >> _32)
    other = a_low * b_high + (middle & _LOW_HALF)
    return a_high * b_high + (middle >> _32) + (other >> _32), (other << _32) | (low & _LOW_HALF)


@loop
def _leading_zeros(m: Any) -> Any:
    """Number of zero bits above the first one of m > 0."""
    zeros = _ZERO
    for shift in (32, 16, 8, 4, 2, 1):
        step = np.uint64(shift)
        if m >> (np.uint64(64) - step) == _ZERO:
            m = m << step
            zeros += step
    return zeros


@loop
def _wide(m: Any, q: int) -> float:
    """The double nearest to m 10^q for m > 0; -1 where 128 bits cannot tell, or it is smaller than the normal ones."""
    if q > _MOST_POWER:
        return np.inf
    if q < _LEAST_POWER:
        return -1.0
    zeros = _leading_zeros(m)
    m = m << zeros
    high, low = _product(m, _FIVES_HIGH[q - _LEAST_POWER])
    if high & _LOW_NINE == _LOW_NINE:
        carried, _ = _product(m, _FIVES_LOW[q - _LEAST_POWER])
        low = low + carried
        if low < carried:
            high = high + _ONE
    if low == _ALL_BITS and (q < -27 or q > 55):  # outside, 5^q was cut off and a carry may be missing
        return -1.0
    upper = high >> _63
    shift = upper + _SIGNIFICANT
    kept = high >> shift  # 54 bits: the double and one bit to round by
    exponent = ((217706 * q) >> 16) + 63 + np.int64(upper) - np.int64(zeros)  # 217706 / 2^16 is log2(10)
    if exponent < _TINY_EXPONENT:
        return -1.0
    if low <= _ONE and -4 <= q <= 23 and kept & _THREE == _ONE and kept << shift == high:
        kept = kept & ~_ONE  # exactly half way: to the even one, which is below
    kept = (kept + (kept & _ONE)) >> _ONE
    if kept == _TWO_53:
        kept = kept >> _ONE
        exponent += 1
    if exponent > _HUGE_EXPONENT:
        return np.inf
    return float(kept) * float(_TWOS[exponent - 52 + 1074])


@wrapping_loop
def scan_number(text: Any, at: int) -> Any:
    """Read the number that begins at byte `at`: its value, the byte after it, and whether it is one.

    Where the result is SLOW_NUMBER the bytes are those of a number whose value is for the caller to find. The text must
    end in a byte that belongs to no number.
    """
    byte = text[np.uintp(at)]
    negative = byte == MINUS
    if negative or byte == PLUS:
        at += 1
        byte = text[np.uintp(at)]
    first = at
    m, q = _ZERO, 0
    digit = np.uint64(byte) - np.uint64(48)
    while digit < _TEN:
        m = m * _TEN + digit
        at += 1
        digit = np.uint64(text[np.uintp(at)]) - np.uint64(48)
    digits = at - first
    if text[np.uintp(at)] == POINT:
        at += 1
        point = at
        digit = np.uint64(text[np.uintp(at)]) - np.uint64(48)
        while digit < _TEN:
            m = m * _TEN + digit
            at += 1
            digit = np.uint64(text[np.uintp(at)]) - np.uint64(48)
        q = point - at
        digits -= q
    if digits == 0:
        return 0.0, at, NOT_A_NUMBER
    cut = False
    if digits > _MOST_DIGITS:
        m, q, cut = _first_digits(text, first)
    byte = text[np.uintp(at)]
    if (byte == SMALL_E) | (byte == CAPITAL_E):
        at += 1
        byte = text[np.uintp(at)]
        below = byte == MINUS
        if below or byte == PLUS:
            at += 1
        begin, power = at, 0
        while np.uint64(text[np.uintp(at)]) - np.uint64(48) < _TEN:
            power = min(power * 10 + int(text[np.uintp(at)]) - 48, 100_000_000)
            at += 1
        if at == begin:
            return 0.0, at, NOT_A_NUMBER
        q += -power if below else power
    if m <= _TWO_53 and -22 <= q <= 22 and not cut:
        value = np.float64(m) / _TENS[-q] if q < 0 else np.float64(m) * _TENS[q]
    elif m == _ZERO and not cut:
        value = 0.0
    else:
        value = _wide(m, q)
        if value < 0.0 or (cut and _wide(m + _ONE, q) != value):
            return 0.0, at, SLOW_NUMBER
    return -value if negative else value, at, NUMBER


@loop
def _first_digits(text: Any, at: int) -> Any:
    """The first 19 digits that count as m, the q that goes with them, and whether any were left out."""
    m, q, count = _ZERO, 0, 0
    after_point = False
    cut = False
    while True:
        byte = text[np.uintp(at)]
        digit = np.uint64(byte) - np.uint64(48)
        if digit < _TEN:
            if count < _MOST_DIGITS:
                m = m * _TEN + digit
                count += 1 if m > _ZERO else 0  # zeros in front do not count
                q -= 1 if after_point else 0
            else:
                cut = True
                q += 0 if after_point else 1
        elif byte == POINT and not after_point:
            after_point = True
        else:
            return m, q, cut
        at += 1
