"""Values that no argument expects, drawn at random, and the rule for what a call may do with them: give a result, or refuse it by name."""
import contextlib
import datetime
import decimal
import fractions
import re
import signal
import threading
import warnings
from collections import OrderedDict, UserList, deque

import numpy as np
import pandas as pd
import polars as pl

ODD_TEXT = ["", " ", "\x00", "nan", "1,5", "−1", "日", "\ud800", "a" * 5000, "\x1b[2J", "$x^$", "{}", "%s", "'", '"', "١٢"]
SCALARS = [None, True, np.nan, np.inf, -np.inf, 0, -0.0, 1, -1, 2**63, -2**63, 10**400, 5e-324, 1e-150, 1e150, 1.7e308, 0.1, 1j, decimal.Decimal("sNaN"), decimal.Decimal("1e999"),
           decimal.Decimal("0.5"), fractions.Fraction(1, 3), datetime.date(2024, 1, 1), datetime.timedelta(1), pd.NA, pd.NaT, np.ma.masked, np.datetime64("NaT"), np.float16(0.5),
           np.int8(1), np.uint64(2**64 - 1), np.bool_(True), b"1", object, len, Ellipsis, NotImplemented, *ODD_TEXT]
SHAPES = [(0,), (1,), (2,), (0, 2), (2, 0), (1, 1), (3, 3, 3), ()]
TYPES = ["float16", "float32", ">f8", "int8", "uint8", "int64", ">i4", "uint64", "bool", "complex128", "U8", "S8", "object", "datetime64[s]", "timedelta64[s]", "longdouble"]


class Lies:
    "Says that it is an array and is none."
    def __init__(self, fault): self.fault = fault
    def __array__(self, dtype=None, copy=None): raise self.fault
    def __len__(self): return 24
    def __repr__(self): return f"Lies({self.fault!r})"


class Counted:
    "A sequence by length and position only."
    def __init__(self, values): self.values = list(values)
    def __len__(self): return len(self.values)
    def __getitem__(self, k): return self.values[k]


def containers(values):
    "The same numbers in other clothes, some of which no reader should take."
    values = np.asarray(values)
    flat = values.ravel().tolist()
    yield from (UserList(flat), deque(flat), OrderedDict(enumerate(flat)), set(map(str, flat)), iter(flat), (one for one in flat), Counted(flat), memoryview(np.ascontiguousarray(values)))
    yield from (pd.Series(flat, dtype="category"), pd.Series(flat).astype("string"), pd.Index(flat), pd.DataFrame({"a": flat, "b": flat}), pl.DataFrame({"a": flat}),
                pl.Series(flat).cast(pl.Utf8), pd.arrays.SparseArray(flat), pd.array(flat), np.asmatrix(flat), np.array(flat).view(np.recarray), values.T, values[None], [flat, flat[:-1]],
                [[flat]], Lies(ValueError("x")), Lies(TypeError("z")), Lies(RuntimeError("y")), pd.Series(flat, index=[0] * len(flat)), pd.Series(flat, index=pd.MultiIndex.from_product([[1], range(len(flat))])))
    if values.ndim == 1 and values.dtype.kind == "f":
        yield from (pd.Series(pd.to_datetime(np.arange(values.size), unit="D")), pd.period_range("2000", periods=values.size, freq="D"), pd.interval_range(0, values.size))


def hostile(rng, value):
    "A hostile value in the place of a valid one."
    kind = rng.integers(7)
    if kind == 0: return SCALARS[rng.integers(len(SCALARS))]
    if kind == 1: return tuple(SCALARS[k] for k in rng.integers(len(SCALARS), size=rng.integers(0, 4)))
    if kind == 2:
        made = np.ones(SHAPES[rng.integers(len(SHAPES))]) * SPREAD[rng.integers(len(SPREAD))]
        return made.tolist() if rng.random() < 0.5 else made
    if not isinstance(value, np.ndarray) or not value.size: return SCALARS[rng.integers(len(SCALARS))]
    if kind == 3:
        found = list(containers(value))
        return found[rng.integers(len(found))]
    if kind == 4:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return value.astype(TYPES[rng.integers(len(TYPES))])
    if kind == 5:  # a few values wrong
        wrong = value.astype(object)
        for _ in range(rng.integers(1, 4)): wrong.flat[rng.integers(wrong.size)] = SCALARS[rng.integers(len(SCALARS))]
        return wrong.tolist() if rng.random() < 0.5 else wrong
    return shaken(rng, value)


SPREAD = [1.0, 0.0, 1e-150, 1e-300, 5e-324, 1e150, 1e300, -1.0, 0.5, np.nan]


def shaken(rng, value):
    "Numbers of the right shape and of any size: scaled, shifted, tied, cut, sorted, or with one far away."
    value = np.array(value, dtype=float)
    kind = rng.integers(7)
    if kind == 0: return value * SPREAD[rng.integers(len(SPREAD))]
    if kind == 1: return value + rng.choice([1e16, -1e16, 1e-9, 1e149])
    if kind == 2: return np.resize(value[:rng.integers(1, len(value) + 1)], value.shape)
    if kind == 3: return value[:rng.integers(0, len(value))]
    if kind == 4: return np.sort(value, axis=0)
    if kind == 5: return np.round(value, rng.integers(0, 3))
    value.flat[rng.integers(value.size)] = rng.choice([1e15, 1e100, 1e150, -1e150, 1e-100, 5e-324, -0.0])
    return value


class Hang(Exception):
    "A call that took too long."


@contextlib.contextmanager
def within(seconds):
    "Interrupt what computes for longer, where the system has alarms; waiting for other processes does not count."
    def stop(number, frame): raise Hang
    alarm = hasattr(signal, "ITIMER_PROF") and threading.current_thread() is threading.main_thread()
    if alarm:
        before = signal.signal(signal.SIGPROF, stop)
        signal.setitimer(signal.ITIMER_PROF, seconds)
    try: yield
    finally:
        if alarm:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)


def fault_of(call, arguments, words):
    "What is wrong with a call: nothing, if it gives a result or refuses by the name of an argument."
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*groups that the map was not fitted to")  # promised
        try:
            with within(60): call(**arguments)
        except Warning as error: return f"warns: {type(error).__name__} {str(error)[:100]}"
        except (ValueError, TypeError) as error:
            if not any(re.search(rf"\b{re.escape(word)}\b", str(error)) for word in words): return f"names no argument: {type(error).__name__} {str(error)[:140]}"
        except Exception as error: return f"{type(error).__name__} {str(error)[:140]}"
    return None
