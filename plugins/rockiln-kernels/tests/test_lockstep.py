"""What the proof of harmless removals accepts and what it must not, on small kernels and on sets of lanes.

Wrong proofs on real kernels are looked for by test_mutation.py: no mutant that was proven harmless may be noticed.
"""

from __future__ import annotations

import itertools

import assembly
import pytest

from harness.lockstep.flow import does_nothing, read_program
from harness.lockstep.lanes import ALL, NONE, Lanes
from harness.lockstep.walk import prove_removal

MASKED = """
v_cmp_gt_u32 {first}, s20, v0
v_mov_b32 v10, 7
s_and_saveexec_{b} {save}, {first}
v_mov_b32 v10, v3
s_or_{b} exec{lo}, exec{lo}, {save}
v_cmp_gt_u32 {second}, s20, {other}
s_and_saveexec_{b} {save}, {used}
v_mov_b32 v8, v10
s_or_{b} exec{lo}, exec{lo}, {save}
"""
NESTED = """
v_or_b32 v11, {low}, v0
v_cmp_gt_u32 {first}, s20, v11
s_and_saveexec_{b} {save}, {first}
v_mov_b32 v8, v3
s_or_{b} exec{lo}, exec{lo}, {save}
v_or_b32 v12, {high}, v0
v_cmp_gt_u32 {second}, s20, v12
s_and_saveexec_{b} {save}, {second}
v_mov_b32 v8, v4
s_or_{b} exec{lo}, exec{lo}, {save}
"""
LOOP = """
s_mov_b32 s30, 3
v_mov_b32 v10, 7
.Lloop:
s_mov_{b} {third}, {first}
v_cmp_gt_u32 {first}, s30, v0
s_and_saveexec_{b} {save}, {first}
v_mov_b32 v10, v3
s_or_{b} exec{lo}, exec{lo}, {save}
s_sub_u32 s30, s30, 1
s_cmp_lg_u32 s30, 0
s_cbranch_scc1 .Lloop
s_and_saveexec_{b} {save}, {used}
v_mov_b32 v8, v10
s_or_{b} exec{lo}, exec{lo}, {save}
"""


def fill(body: str, arch: str, **words: str) -> str:
    """The body with the registers of the arch's masks."""
    wide = assembly.LANES[arch] == 64
    names = {"first": 22, "second": 24, "save": 26, "third": 28}
    masks = {name: f"s[{place}:{place + 1}]" if wide else f"s{place}" for name, place in names.items()}
    words = {name: word.format(**masks) for name, word in words.items()}
    return body.format(b="b64" if wide else "b32", lo="" if wide else "_lo", **masks, **words)


def prove(arch: str, body: str, text: str, number: int = 0) -> str:
    """Why removing the `number`-th instruction that starts with `text` is not proven harmless; empty if it is."""
    code = assembly.build(arch, body)
    program = read_program(code, code.kernels["k"])
    places = [place for place, item in enumerate(code.instructions) if item.text().startswith(text)]
    return prove_removal(program, places[number])


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
def test_what_nobody_reads_may_go(arch: str) -> None:
    body = "v_mov_b32 v20, v2\nv_mov_b32 v8, v3\ns_nop 0"
    assert prove(arch, body, "v_mov_b32_e32 v20") == ""
    assert prove(arch, body, "s_nop") == ""
    assert "stored" in prove(arch, body, "v_mov_b32_e32 v8, v3")
    assert "address" in prove(arch, body, "v_lshlrev_b32_e32 v1")
    assert "more than to write registers" in prove(arch, body, "global_store")
    assert prove(arch, body, "v_mov_b32_e32 v8, 0") == ""  # overwritten


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
def test_a_default_may_go_where_its_lanes_are_not_read(arch: str) -> None:
    same, another = (fill(MASKED, arch, other="v0", used=used) for used in ("{first}", "{second}"))
    assert prove(arch, same, "v_mov_b32_e32 v10, 7") == ""
    assert prove(arch, another, "v_mov_b32_e32 v10, 7") == ""  # the same comparison, made twice
    unlike = fill(MASKED, arch, other="v3", used="{second}")
    assert "stored" in prove(arch, unlike, "v_mov_b32_e32 v10, 7")
    assert prove(arch, same, "s_and_saveexec", 0) == ""  # more lanes get v3 than are stored
    assert "stored" in prove(arch, same, "s_and_saveexec", 1)


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
def test_lanes_may_stay_off_where_fewer_are_needed_next(arch: str) -> None:
    whole = fill(NESTED, arch, low="0x80", high="0x180")  # every lane is stored at the end
    assert prove(arch, whole, "s_or_b") != ""
    last = fill("s_and_saveexec_{b} {save}, {second}\n", arch)  # those of the second mask are
    assert prove(arch, whole + last, "s_or_b") == ""
    assert prove(arch, fill(NESTED, arch, low="0x180", high="0x80") + last, "s_or_b") != ""


AWAY = """
v_or_b32 v11, {low}, v0
v_cmp_gt_u32 {first}, s20, v11
v_or_b32 v12, {high}, v0
v_cmp_gt_u32 {second}, s20, v12
s_and_saveexec_{b} {save}, {first}
v_mov_b32 v8, v3
s_or_{b} exec{lo}, exec{lo}, {save}
s_and_saveexec_{b} {save}, {second}
s_cbranch_execnz .Laway
.Lback:
s_or_{b} exec{lo}, exec{lo}, {save}
s_branch .Lend
.Laway:
v_mov_b32 v8, v4
s_branch .Lback
.Lend:
"""


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
def test_code_that_lies_elsewhere_is_skipped_as_well(arch: str) -> None:
    last = fill("s_and_saveexec_{b} {save}, {second}\n", arch)
    assert prove(arch, fill(AWAY, arch, low="0x80", high="0x180") + last, "s_or_b") == ""
    assert "stored" in prove(arch, fill(AWAY, arch, low="0x180", high="0x80") + last, "s_or_b")


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
def test_a_mask_of_the_turn_before_is_another(arch: str) -> None:
    last, before = (fill(LOOP, arch, used=used) for used in ("{first}", "{third}"))
    assert prove(arch, last, "v_mov_b32_e32 v10, 7") == ""
    assert "stored" in prove(arch, before, "v_mov_b32_e32 v10, 7")
    assert "branch" in prove(arch, last, "s_cmp_lg")


def test_bits_that_are_0_need_no_mask() -> None:
    body = "v_and_b32 v10, 0xff, v2\nv_and_b32 v10, 0xffff, v10\nv_and_b32 v10, 0xf, v10\nv_mov_b32 v8, v10"
    assert prove("gfx942", body, "v_and_b32_e32 v10, 0xffff") == ""
    assert "stored" in prove("gfx942", body, "v_and_b32_e32 v10, 15, v10")


def test_an_argument_of_0_decides_a_branch() -> None:
    body = "s_load_dword s22, s[0:1], 0x10\ns_cmp_eq_u32 s22, 0\ns_cbranch_scc1 .Lend\nv_mov_b32 v8, v3\n.Lend:\n"
    code = assembly.build("gfx942", body)
    place = next(order for order, item in enumerate(code.instructions) if item.text() == "v_mov_b32_e32 v8, v3")
    offset = 0x10
    assert prove_removal(read_program(code, code.kernels["k"], zeros=frozenset({offset})), place) == ""
    assert "stored" in prove_removal(read_program(code, code.kernels["k"]), place)
    assert "stored" in prove_removal(read_program(code, code.kernels["k"], zeros=frozenset({offset + 4})), place)


def test_halves_of_a_register_are_two() -> None:
    body = "v_mov_b16 v10.l, v2.l\nv_mov_b16 v10.h, v3.l\nv_mov_b16 v8.l, v10.l"
    assert prove("gfx1100", body, "v_mov_b16_e32 v10.h") == ""
    assert "stored" in prove("gfx1100", body, "v_mov_b16_e32 v10.l")


def test_only_an_instruction_that_does_nothing_does_nothing() -> None:
    code = assembly.build("gfx1100", "s_delay_alu 0\nv_mov_b32 v8, v3")
    program = read_program(code, code.kernels["k"])
    names = [item.base for item in code.instructions]
    assert does_nothing(program, names.index("s_delay_alu"))
    assert not does_nothing(program, names.index("v_mov_b32"))


def test_sets_of_lanes_are_boolean_functions() -> None:
    lanes = Lanes()
    atoms = [lanes.atom(name, order) for order, name in enumerate("abc")]
    rows = list(itertools.product((False, True), repeat=3))

    def read(function: int) -> tuple[bool, ...]:
        """The truth table: whether it has the lanes that are in just those atoms."""
        table = []
        for row in rows:
            own = ALL
            for atom, value in zip(atoms, row, strict=True):
                own = lanes.both(own, atom if value else lanes.without(atom))
            table.append(lanes.holds(own, function))
        return tuple(table)

    a, b, c = atoms
    assert read(lanes.either(lanes.both(a, b), lanes.without(c))) == tuple((x and y) or not z for x, y, z in rows)
    assert read(lanes.same(a, b)) == tuple(x == y for x, y, _ in rows)
    assert lanes.both(a, lanes.without(a)) == NONE
    assert lanes.either(a, lanes.without(a)) == ALL
    assert lanes.certain(lanes.either(a, b), frozenset({1})) == a  # whatever b is
    assert lanes.certain(lanes.both(a, b), frozenset({1})) == NONE
