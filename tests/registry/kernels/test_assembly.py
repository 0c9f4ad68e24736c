"""Instructions of a kernel are counted by vector width, and its machine loops are found."""

from registry.kernels.assembly import architecture_of, machine_loops, mix_of
from tests.registry.kernels.scripts import ARM, X86


def test_vector_and_scalar_arithmetic_is_told_apart() -> None:
    mix = mix_of(X86)
    assert mix is not None
    assert (mix.packed, mix.scalar, mix.fma, mix.calls) == (3, 1, 2, 1)
    assert dict(mix.widths) == {512: 2, 256: 1}
    assert max(bits for bits, _ in mix.widths) == 512
    assert mix.total == 14


def test_arm_is_read_as_well() -> None:
    assert architecture_of(ARM) == "arm64"
    mix = mix_of(ARM)
    assert mix is not None
    assert (mix.packed, mix.scalar, mix.fma, mix.calls) == (1, 1, 1, 1)
    assert machine_loops(ARM)[0].label == ".LBB0_1"


def test_dot_products_of_arm_are_vector_arithmetic() -> None:
    mix = mix_of(ARM.replace("fmla\tv0.4s, v1.4s, v2.4s", "sdot\tv0.4s, v1.16b, v2.16b"))
    assert mix is not None
    assert (mix.packed, mix.scalar, mix.fma, mix.widths) == (1, 1, 0, ((128, 1),))


def test_loops_are_backward_branches_with_their_nesting() -> None:
    loops = machine_loops(X86)
    assert [(loop.label, loop.depth) for loop in loops] == [
        (".LBB0_1", 0), (".LBB0_2", 1), (".LBB0_3", 0),
    ]  # fmt: skip
    lines = X86.splitlines()
    for loop in loops:
        assert lines[loop.line - 1] == f"{loop.label}:"
        assert loop.label in lines[loop.last_line - 1]
    assert [loop.mix.packed for loop in loops] == [3, 3, 0]
    assert loops[2].mix.scalar == 1


def test_other_instruction_sets_are_not_guessed() -> None:
    assert mix_of("\tfmadd.s\tfa0, fa1, fa2, fa3\n") is None
    assert mix_of("") is None
    assert machine_loops("") == []


def test_code_without_arithmetic_is_not_called_scalar() -> None:
    mix = mix_of("\tmovq\t%rax, %rbx\n\tretq\n")
    assert mix is not None
    assert (mix.packed, mix.scalar, mix.widths) == (0, 0, ())
