"""Memory and lane moves: addresses must agree, and what is stored, but for what LDS may hold."""

from __future__ import annotations

from typing import Any

from gfxemu.lower_memory import D16_HIGH, TO_LDS

from harness.lockstep.bits import load_bits
from harness.lockstep.flow import Step
from harness.lockstep.lanes import ALL, NONE
from harness.lockstep.masks import Differs
from harness.lockstep.state import State
from harness.lockstep.vectors import BOTH, MOVES_LANES, Vectors, find_written_halves


class Accesses:
    """Steps that touch LDS or global memory."""

    def __init__(self, vectors: Vectors) -> None:
        self.vectors, self.lanes = vectors, vectors.lanes

    def take(self, state: State, step: Step, *, is_shared: bool) -> None:
        """One access."""
        micro = step.micro
        if micro.op.startswith(MOVES_LANES):
            return self._exchange(state, micro)
        self._check_addresses(state, micro.src[:1] if is_shared else (micro.src[0], *micro.src[2:]))
        if "atomic" in micro.op:
            return self._update(state, micro)
        if micro.op.startswith(("ds_write", "mem_store")) or micro.control & TO_LDS:
            return self._put(state, micro, is_shared=is_shared or bool(micro.control & TO_LDS))
        reads_shared = is_shared or (micro.control >> 16 & 3) == 1  # flat
        agree = ALL if state.shared_agrees or not reads_shared else NONE
        if "_tr_" in micro.op and not self.vectors.is_active_alike(state):
            agree = NONE
        self.vectors.store(state, micro.dst, agree, find_written_halves(micro, ""))
        bits = load_bits(state, micro)
        self.vectors.name(state, micro.dst, ("made", self.vectors.masks.block, step.place), ALL)
        self.vectors.limit(state, micro.dst, bits)
        return None

    def _check_addresses(self, state: State, slots: Any) -> None:
        active, lanes = state.active, self.lanes
        if not lanes.holds(active.second, active.first):
            raise Differs("lanes may be active that were not")
        for slot in slots:
            if not lanes.holds(active.second, self.vectors.agreement(state, slot)):
                raise Differs("an address may differ")

    def _exchange(self, state: State, micro: Any) -> None:
        agree = ALL
        for slot in micro.src:
            agree = self.lanes.both(agree, self.vectors.moved(state, slot, fetches_inactive=False))
        self.vectors.store(state, micro.dst, agree, is_part=True)
        self.vectors.forget(state, micro.dst)

    def _put(self, state: State, micro: Any, *, is_shared: bool) -> None:
        agree = self.vectors.agree_active(state)
        halves = BOTH if micro.size >= 4 else (1,) if micro.control & D16_HIGH else (0,)
        for slot in micro.src[1:] if micro.op.startswith("ds_") else micro.src[1:2]:
            own = self.lanes.choose(state.active.first, self.vectors.agreement(state, slot, halves), ALL)
            agree = self.lanes.both(agree, own)
        if agree == ALL:
            return
        if not is_shared:
            raise Differs("what is stored may differ")
        state.shared_agrees = False

    def _update(self, state: State, micro: Any) -> None:
        is_same = self.vectors.is_active_alike(state) and state.shared_agrees
        for slot in micro.src[1:]:
            is_same &= self.lanes.holds(state.active.first, self.vectors.agreement(state, slot))
        if not is_same:
            raise Differs("an atomic operation may differ")
        self.vectors.store(state, micro.dst, ALL)
        self.vectors.forget(state, micro.dst)
