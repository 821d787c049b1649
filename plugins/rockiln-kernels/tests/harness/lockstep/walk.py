"""A kernel's program and one instruction → whether a run without it provably stores the same: `prove_removal`.

Both runs are followed at once, over all paths, until nothing new is learnt (abstract interpretation). Where they might
part (another branch, address or stored value) the proof fails; it is never about what some input does.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

from gfxemu.launch import UNITS
from gfxemu.lower import NULL, VCC
from gfxemu.lower_memory import TO_LDS
from gfxemu.micro import ALTERNATIVE, CONSTANT, SCALAR, VCCZ, VECTOR

from harness.lockstep.bits import repeats
from harness.lockstep.flow import Program, Step, find_detour
from harness.lockstep.lanes import ALL, NONE, Lanes
from harness.lockstep.masks import Differs, Masks
from harness.lockstep.memory import Accesses
from harness.lockstep.state import EXEC, Mask, State, empty, go_round, join, leave_none
from harness.lockstep.vectors import Vectors, find_written_halves

MOST_VISITS = 40
"""Of one block: loops settle in a few."""

KEEPS_CONDITION = re.compile(
    r"s_(c?mov|cselect|mul_|(add|sub)_u64|bfm|sext|ff1|flbit|brev|pack|bitset|cvt|ceil|floor|trunc|rndne|getpc|"
    r"getreg|setreg|fma)|s_(add|sub|mul|min|max|minimum|maximum)_f"
)
READS_CONDITION = re.compile(r"s_(cmov|cselect|addc|subb)")
BITWISE = re.compile(r"s_(and|or|xor|andn2|orn2|nand|nor|xnor)_b(32|64)")
IGNORES_EXEC = re.compile(r"v_writelane|s_setreg|s_round_mode|s_denorm_mode|s_trap|s_endpgm")
"""What does more than to write registers that `_list_written` tells, though no lane is active."""
SAVES = re.compile(r"s_(\w+)_saveexec_b(32|64)")
NO_REMOVAL = ("branch", "barrier")
DOES_MORE = (
    "mem_store", "mem_atomic", "ds_write", "ds_atomic", "s_setreg", "s_waitcnt", "s_round_mode", "s_denorm_mode",
    "s_trap",
)  # fmt: skip


def prove_removal(program: Program, place: int) -> str:
    """Empty if the runs with and without instruction number `place` are proven to store the same; else why not."""
    if program.block_of[place] not in program.order:
        return ""
    walk = Walk(program, place)
    try:
        walk.settle()
    except Differs as reason:
        return str(reason)
    except RecursionError:
        return "too many masks at once"
    return ""


class Walk:
    """One proof."""

    def __init__(self, program: Program, removed: int) -> None:
        self.program, self.removed = program, removed
        self.lanes = Lanes()
        self.masks = Masks(self.lanes, program.lanes)
        self.vectors = Vectors(self.masks, program.ops, program.threads)
        self.accesses = Accesses(self.vectors)
        self.skipped: dict[int, set[int]] = {}
        """Block → scalar registers that the second run may not have written when it gets there."""

    def settle(self) -> None:
        """Follow all paths until what arrives at blocks stays as it is."""
        blocks, entry = self.program.blocks, self.program.entry
        words: dict[int, Hashable] = {reg: ("entry", reg) for reg in range(104)}
        words |= {reg: ("argument", offset) for reg, offset in self.program.preloaded.items()}
        begin = State(scalar_words=words, words={0: (("entry", "v0"), ALL)})
        arrivals: dict[int, dict[int, State]] = {entry: {-1: begin}}
        pending, visits = {entry}, [0] * len(blocks)
        failed: dict[int, Differs] = {}
        while pending:
            number = min(pending, key=self.program.order.__getitem__)
            pending.remove(number)
            visits[number] += 1
            if visits[number] > MOST_VISITS:
                raise Differs("a loop does not settle")
            try:
                failed.pop(number, None)
                state = self._arrive(number, arrivals[number])
                self._follow(state, number)
            except Differs as reason:  # for good only if it still does when all has settled
                failed[number] = Differs(f"{reason}: instruction {self.masks.place}")
                continue
            for target in dict.fromkeys(blocks[number].follow):
                if self._is_never(state, number, target):
                    continue
                own = self._leave(state, number, target)
                known = arrivals.setdefault(target, {})
                if known.get(number) != own:
                    known[number] = own
                    pending.add(target)
        for failure in failed.values():
            raise failure

    def _is_never(self, state: State, number: int, target: int) -> bool:
        """Whether a branch whose condition is known does not go this way."""
        block = self.program.blocks[number]
        name = block.steps[-1].micro.op
        if not name.startswith(("s_cbranch_scc", "s_cbranch_vcc")) or len(set(block.follow)) == 1:
            return False
        known = state.condition if name.startswith("s_cbranch_scc") else self._is_vcc_set(state)
        goes = target == block.follow[-1]
        return known is not None and goes != (known == name.endswith(("scc1", "vccnz")))

    def _is_vcc_set(self, state: State) -> bool | None:
        """Whether VCC has a lane, where it has none for sure or all."""
        mask = self.masks.read(state, (SCALAR, self.program.lanes // 32, VCC, 0, 0))
        return {NONE: False, ALL: True}.get(mask.first)

    def _arrive(self, number: int, arrivals: dict[int, State]) -> State:
        """What holds at a block's start."""
        self.masks.block = number
        own, *others = (arrivals[source] for source in sorted(arrivals))
        state = own.copy()
        for other in others:
            state = join(self.lanes, number, state, other)
        for reg in self.skipped.get(number, ()):
            self.masks.write(state, (SCALAR, 1, reg, 0, 0), None, same=False)
        state.condition_agrees &= number not in self.skipped
        return state

    def _leave(self, state: State, number: int, target: int) -> State:
        """What holds on the way from one block to another."""
        own = empty(self.lanes, state) if self._is_empty(number, target) else state.copy()
        if all(self._is_empty(source, target) for source in self.program.sources[target]):
            own = leave_none(self.lanes, own)
        loop = self.program.loops.get((number, target))
        return go_round(self.lanes, own, loop, target) if loop else own

    def _is_empty(self, number: int, target: int) -> bool:
        """Whether a block is left this way only when no lane is active."""
        block = self.program.blocks[number]
        name = block.steps[-1].micro.op
        if not name.startswith("s_cbranch_exec") or len(set(block.follow)) == 1:
            return False
        return target == block.follow[-1 if name == "s_cbranch_execz" else 0]

    def _follow(self, state: State, number: int) -> None:
        for step in self.program.blocks[number].steps:
            self.masks.place = step.place
            if step.place == self.removed:
                self._leave_out(state, step)
            else:
                self._take(state, step)

    def _take(self, state: State, step: Step) -> None:
        unit = self._unit(step)
        if unit == "salu":
            self._compute_scalar(state, step)
        elif unit in ("valu", "transcendental"):
            self.vectors.compute(state, step)
        elif unit == "matrix":
            self.vectors.multiply(state, step)
        elif unit == "smem":
            self._load_scalar(state, step)
        elif unit in ("lds", "vmem"):
            self.accesses.take(state, step, is_shared=unit == "lds")
        elif unit == "branch":
            self._branch(state, step)
        elif step.micro.op in ("unknown", "s_trap"):
            raise Differs(f"{step.mnemonic} has no meaning here")

    def _unit(self, step: Step) -> str:
        return UNITS[self.program.ops[step.micro.op][1]]

    def _load_scalar(self, state: State, step: Step) -> None:
        micro = step.micro
        if not all(self.masks.is_same(state, slot) for slot in micro.src):
            raise Differs("a scalar load's address may differ")
        width = max(micro.dst[1], micro.size // 4)
        slot = (*micro.dst[:1], width, *micro.dst[2:])
        word = ("made", self.masks.block, step.place)
        is_argument = self._is_argument(state, micro)
        self.masks.write(state, slot, None, word=word)
        for place in range(width) if is_argument else ():
            state.scalar_words[slot[2] + place] = ("argument", micro.offset + 4 * place)

    def _is_argument(self, state: State, micro: Any) -> bool:
        base, first = micro.src[0], self.program.kernarg
        words = [state.scalar_words.get(base[2] + place) for place in (0, 1)]
        return micro.op == "s_load" and micro.src[1][0] == 0 and words == [("entry", first), ("entry", first + 1)]

    def _compare_argument(self, state: State, micro: Any) -> bool | None:
        """SCC of a comparison of a constant with an argument that is 0, or 1 at least and the constant is below.

        None: not known.
        """
        match = re.fullmatch(r"s_cmp_(lt|le|gt|ge|eq|lg)_([iu])32", micro.op)
        if match is None:
            return None
        name, slots = match[1], micro.src[:2]
        if slots[0][0] == CONSTANT:
            name, slots = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}.get(name, name), slots[::-1]
        word, limit = self.masks.word(state, slots[0]), slots[1][3]
        if slots[1][0] != CONSTANT or not isinstance(word, tuple) or word[0] != "argument":
            return None
        if word[1] in self.program.zeros and limit < 1 << 31:
            is_equal = limit == 0
            return {"eq": is_equal, "lg": not is_equal, "lt": not is_equal, "le": True, "gt": False, "ge": is_equal}[
                name
            ]
        if word[1] not in self.program.positive or limit > 1:
            return None
        if limit == 1:
            return {"lt": False, "ge": True}.get(name)
        return name in ("gt", "ge", "lg")

    def _compute_scalar(self, state: State, step: Step) -> None:
        micro = step.micro
        is_same = all(self.masks.is_same(state, slot) for slot in micro.src)
        word: Hashable = ("made", self.masks.block, step.place)
        if micro.op in ("s_getpc_b64", "s_setreg_b32", "s_getreg_b32"):
            if not is_same:
                raise Differs("a mode may differ")
            return self.masks.write(state, micro.dst, None, word=word)
        if match := SAVES.fullmatch(micro.op):
            return self._save(state, step, match[1])
        mask = self._as_mask(state, step)
        if READS_CONDITION.match(micro.op):
            is_same &= state.condition_agrees
        known = self._compare_argument(state, micro)
        if micro.op == "s_mov_b32":
            known_word = self.masks.word(state, micro.src[0])
            word = word if known_word is None else known_word
        if micro.op == "s_lshl_b32" and micro.src[1][0] == CONSTANT:
            word = ("left", self.masks.word(state, micro.src[0]) or word, micro.src[1][3] & 31)
        self.masks.write(state, micro.dst, mask, same=is_same, word=word)
        if not KEEPS_CONDITION.match(micro.op):
            state.condition_agrees = mask.first == mask.second if mask else is_same
            state.condition = known
        return None

    def _as_mask(self, state: State, step: Step) -> Mask | None:
        """The result of a bitwise instruction as wide as a wave, else None."""
        micro, masks = step.micro, self.masks
        if not micro.op.endswith(f"_b{self.program.lanes}") or micro.dst[0] != SCALAR:
            return None
        sources = [masks.read(state, slot) for slot in micro.src[:2]]
        if micro.op.startswith("s_mov_b"):
            return sources[0]
        if micro.op.startswith("s_not_b"):
            return masks.invert(sources[0])
        if match := BITWISE.fullmatch(micro.op):
            return masks.combine(match[1], *sources)
        return self._select(state, step, *sources) if micro.op.startswith("s_cselect_b") else None

    def _select(self, state: State, step: Step, a: Mask, b: Mask) -> Mask:
        lanes = self.lanes
        test = lanes.atom(("selected", step.place), self.masks.block)  # of all lanes or of none
        if state.condition is not None:
            test = ALL if state.condition else NONE
        again = test if state.condition_agrees else lanes.atom(("selected again", step.place), self.masks.block)
        return Mask(lanes.choose(test, a.first, b.first), lanes.choose(again, a.second, b.second))

    def _save(self, state: State, step: Step, name: str) -> None:
        micro, masks = step.micro, self.masks
        old = state.active
        new = masks.combine(name, masks.read(state, micro.src[0]), old)
        if new is None:
            raise Differs(f"{step.mnemonic} has no meaning here")
        masks.write(state, micro.dst, old)
        state.active = new
        state.condition_agrees = new.first == new.second
        state.condition = None

    def _branch(self, state: State, step: Step) -> None:
        name = step.micro.op
        if name in ("s_branch", "s_endpgm"):
            return
        if name.startswith("s_cbranch_scc"):
            if not state.condition_agrees:
                raise Differs("a branch on SCC may differ")
        elif name.startswith("s_cbranch_vcc"):
            if not self.masks.is_same(state, (VCCZ, 1, 0, 0, 0)):
                raise Differs("a branch on VCC may differ")
        elif name.startswith("s_cbranch_exec"):
            if state.active.first != state.active.second:
                self._skip(state, step)
        else:
            raise Differs(f"{step.mnemonic} has no meaning here")

    def _skip(self, state: State, step: Step) -> None:
        """With fewer lanes active the second run may skip what the first does not, which then does nothing but to
        scalar registers."""
        number, blocks = self.masks.block, self.program.blocks
        onward, target = blocks[number].follow[0], blocks[number].follow[-1]
        first, end = (onward, target) if step.micro.op == "s_cbranch_execz" else (target, onward)
        detour = find_detour(blocks, first, end) if first != end else frozenset()
        is_fewer = self.lanes.holds(state.active.second, state.active.first)
        if not is_fewer or detour is None or number in detour:
            raise Differs("a branch on EXEC may differ")
        own: set[int] = set()
        for item in (item for block in detour for item in blocks[block].steps):
            own |= _list_written(item)
            if self._unit(item) in ("barrier", "matrix") or IGNORES_EXEC.match(item.micro.op):
                raise Differs(f"a branch on EXEC may differ, over {item.mnemonic}")
        if EXEC in own:
            raise Differs("a branch on EXEC may differ, over code that changes EXEC")
        self.skipped.setdefault(end, set()).update(own)

    def _leave_out(self, state: State, step: Step) -> None:
        """The first run takes the step, the second does not: what it writes agrees only where that was there before."""
        micro = step.micro
        unit = self._unit(step)
        if unit in NO_REMOVAL or micro.op.startswith(DOES_MORE) or (micro.control & TO_LDS and unit == "vmem"):
            raise Differs("what it does is more than to write registers")
        before = state.copy()
        self._take(state, step)
        is_repeated = unit == "valu" and repeats(before, micro)
        is_matrix = unit == "matrix"
        is_whole = is_matrix or "writelane" in micro.op
        slots = (micro.dst,) if is_matrix else (micro.dst, micro.dst2, *(micro.src if "_swap" in micro.op else ()))
        for slot in slots:
            if slot[0] == SCALAR:
                width = max(slot[1], micro.size // 4 if unit == "smem" else 0)
                self._keep_scalar(state, before, (slot[0], width, *slot[2:]))
            for reg in range(slot[2], slot[2] + slot[1]) if slot[0] == VECTOR and not is_repeated else ():
                for half in find_written_halves(micro, self.program.ops[micro.op][2]):
                    self._keep_vector(state, before, (reg, half), is_whole=is_whole)
        if _changes_active(micro):
            state.active = Mask(state.active.first, before.active.second)
        if unit == "salu" and not KEEPS_CONDITION.match(micro.op):
            state.condition_agrees = False

    def _keep_vector(self, state: State, before: State, part: tuple[int, int], *, is_whole: bool) -> None:
        lanes = self.lanes
        new, old = state.words.get(part[0]), before.words.get(part[0])
        match = lanes.both(new[1], old[1]) if new and old and new[0] == old[0] else NONE
        active = ALL if is_whole else before.active.first
        place = 2 * part[0] + part[1]
        agree = lanes.both(before.vectors.get(place, ALL), lanes.choose(active, match, ALL))
        self.vectors.note(state, place, agree)

    def _keep_scalar(self, state: State, before: State, slot: Any) -> None:
        masks = self.masks
        if slot[2] == NULL:
            return
        if slot[2] >= EXEC:
            state.active = Mask(state.active.first, before.active.second)
            return
        word = masks.word(state, slot)
        if word is not None and word == masks.word(before, slot) and masks.is_same(before, slot):
            return
        if masks.is_mask(slot):
            own = Mask(state.masks[slot[2]].first, masks.read(before, slot).second)
            masks.write(state, slot, own, word=word)
        else:
            masks.write(state, slot, None, same=False, word=word)


def _changes_active(micro: Any) -> bool:
    """Whether an op writes EXEC, which is none of its operands."""
    return bool(SAVES.fullmatch(micro.op) or (micro.flags & ALTERNATIVE and micro.op.startswith("v_cmp")))


def _list_written(step: Step) -> set[int]:
    """Scalar registers that a step writes."""
    micro = step.micro
    slots = [slot for slot in (micro.dst, micro.dst2) if slot[0] == SCALAR]
    own = {reg for slot in slots for reg in range(slot[2], slot[2] + max(slot[1], micro.size // 4))}
    return own | {EXEC} if _changes_active(micro) or own & {EXEC, EXEC + 1} else own
