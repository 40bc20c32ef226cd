"""What a joint kernel on structured pairs remembers between calls: nothing that changes a value, only time.

Training calls a kernel again and again with the same lists of pairs. They are recognised as objects, not by
their contents: comparing contents would cost as much as the work that is saved.
"""

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeVar

Value = TypeVar("Value")
Packed = TypeVar("Packed")
Expansion = TypeVar("Expansion")


class LastValue(Generic[Value]):
    """The value computed from the last arguments met; lists that have grown since are new arguments."""

    def __init__(self) -> None:
        # One tuple, replaced as a whole: another thread sees the old entry or the new one.
        self._entry: tuple[tuple[Any, ...], int, Value] | None = None

    def get(self, *arguments: Any) -> Value | None:
        """The value of these very arguments, or None."""
        entry = self._entry
        if entry is None or entry[1] != len(arguments[0]):
            return None
        same = all(old is new for old, new in zip(entry[0], arguments, strict=True))
        return entry[2] if same else None

    def set(self, value: Value, *arguments: Any) -> Value:
        """Remember the value of these arguments instead of the last; returns it."""
        self._entry = (arguments, len(arguments[0]), value)
        return value


class KernelStore(Protocol):
    """What one kind of kernel keeps besides: can be made empty."""

    def __init__(self) -> None: ...


Kept = TypeVar("Kept", bound=KernelStore)


class KernelMemory(Generic[Packed, Expansion, Kept]):
    """The last packed pairs, the last expansion, and the kernel's own store; shared by copies, not pickled.

    Attributes
    ----------
    packed : LastValue
        The last list of pairs as arrays, by (X, Y).
    expansion : LastValue
        What the last sum_j coef_j k((x_j, y_j), .) amounts to for any x, by (X, Y, coef).
    store : KernelStore
        What the kernel keeps of single inputs.
    """

    def __init__(self, store: Kept) -> None:
        self.packed: LastValue[Packed] = LastValue()
        self.expansion: LastValue[Expansion] = LastValue()
        self.store = store

    def __deepcopy__(self, memo: Any) -> KernelMemory[Packed, Expansion, Kept]:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return KernelMemory, (type(self.store)(),)
