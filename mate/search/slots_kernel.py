"""Room for what is known of some options of a table: the one that was not asked for the longest makes way, about."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mate.values.kernels import inner

Array = npt.NDArray[Any]

NEVER = -(1 << 60)


class Slots(NamedTuple):
    """Which options have a place, a *slot*, in arrays that hold less than all of them."""

    of: Array
    """Slot of each option, -1 for none."""
    option: Array
    """Option of each slot, -1 for none."""
    asked: Array
    """When each slot was last asked for."""
    clock: Array
    """How often any was asked for, and the slot to try next."""


@inner
def new_slots(options, size, room, least):
    """Return free slots for options that take so many numbers each: as many as there is room for, but `least`."""
    count = min(options, max(least, room // max(size, 1)))
    return Slots(
        np.full(options, -1, np.int64),
        np.full(count, -1, np.int64),
        np.full(count, NEVER, np.int64),
        np.zeros(2, np.int64),
    )


@inner
def take_slot(slots, option, kept):
    """Give an option a slot; tell whether it has to be filled.

    Those that were asked for last keep theirs, `kept` of them with this one.
    """
    slots.clock[0] += 1
    now = slots.clock[0]
    slot = slots.of[option]
    if slot >= 0:
        slots.asked[slot] = now
        return False
    slot = slots.clock[1]
    while slots.asked[slot] > now - kept:
        slot = (slot + 1) % len(slots.option)
    if slots.option[slot] >= 0:
        slots.of[slots.option[slot]] = -1
    slots.of[option], slots.option[slot], slots.asked[slot] = slot, option, now
    slots.clock[1] = (slot + 1) % len(slots.option)
    return True
