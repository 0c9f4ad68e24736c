"""Loops of machine code are linked to those of the loop nest where it is certain."""

import pytest

from registry.kernels.assembly import machine_loops
from registry.kernels.llvm import compiled_loops
from registry.kernels.looplinks import link_loops
from registry.kernels.tir import loops_of
from tests.registry.kernels.scripts import LLVM, TIR, X86

LOOPS = loops_of(TIR)


def linked(assembly: str = X86, llvm: str = LLVM, tir: str = TIR) -> dict[str, str]:
    """Labels of machine loops to the names of their loops."""
    machine, loops = machine_loops(assembly), loops_of(tir)
    links = link_loops(machine, llvm, loops)
    return {machine[at].label: loops[number].name for at, number in links.items()}


def test_loops_of_the_ir_have_their_nesting_variables_and_trips() -> None:
    (function,) = compiled_loops(LLVM).items()
    assert function[0] == "__tvm_ffi_kernel"
    rows = [
        (one.header, one.parent, one.variables, one.trips, one.has_arithmetic)
        for one in function[1]
    ]
    assert rows == [
        ("for_body_i_1", None, ("i_17",), 8, True),
        ("for_begin_j_1.preheader", 0, ("indvars.iv",), 32, True),
        ("vector.body", None, ("index",), 5, True),
    ]


def test_links_follow_from_names_nesting_and_trips() -> None:
    # The block before the loop over j_1 belongs to the loop around it. LLVM made the last loop.
    assert linked() == {".LBB0_1": "i_1", ".LBB0_2": "k"}


def test_among_several_loops_around_a_block_the_trips_decide() -> None:
    tir = TIR.replace(
        "for k in range(T.int64(32)):", "for k, m in T.grid(T.int64(32), T.int64(4)):"
    )
    assert linked(tir=tir) == {".LBB0_1": "i_1", ".LBB0_2": "k"}
    unknown = LLVM.replace("i64 %indvars.iv.next, 32", "i64 %indvars.iv.next, %n")
    assert linked(llvm=unknown, tir=tir) == {".LBB0_1": "i_1"}


def test_what_llvm_vectorised_came_from_the_loop_behind_it() -> None:
    # The outer loop goes first, so that the loop of LLVM's own has the loop over i_1 behind it.
    assembly = X86.replace(".LBB0_3:", ".LBB0_0:").replace("jb\t.LBB0_3", "jb\t.LBB0_0")
    lines = assembly.splitlines()
    start = lines.index(".LBB0_0:")
    own, first = lines[start : start + 4], lines.index(".LBB0_1:")
    moved = lines[:first] + own + lines[first:start] + lines[start + 4 :]
    llvm = LLVM.replace("br label %for_body_i_1\n", "br label %vector.body\n", 1)
    llvm = llvm.replace("br i1 %last, label %vector.body,", "br i1 %last, label %exit,")
    llvm = llvm.replace("br i1 %end, label %exit,", "br i1 %end, label %for_body_i_1,")
    assert linked("\n".join(moved), llvm) == {".LBB0_0": "i_1", ".LBB0_1": "i_1", ".LBB0_2": "k"}


def test_without_a_name_there_is_no_link() -> None:
    nameless = LLVM.replace("for_begin_j_1.preheader", "loop.exit")
    assert linked(llvm=nameless) == {".LBB0_1": "i_1"}


@pytest.mark.parametrize(
    "llvm",
    [
        "",
        "define i32 @other() {\nentry:\n  ret i32 0\n}\n",
        # One loop fewer than in the machine code.
        LLVM.replace("br i1 %end, label %exit, label %vector.body", "br label %exit"),
    ],
)
def test_code_of_another_shape_has_no_links(llvm: str) -> None:
    assert linked(llvm=llvm) == {}


def test_loops_of_equal_shape_that_compute_other_things_are_not_linked() -> None:
    copying = X86.replace("vaddss\t(%rdi), %xmm0, %xmm0", "movq\t%rax, %rbx")
    assert linked(copying) == {}


def test_private_functions_of_parallel_loops_are_matched() -> None:
    assembly = X86.replace("__tvm_ffi_kernel:", ".L__tvm_parallel_lambda:")
    llvm = LLVM.replace("@__tvm_ffi_kernel(", "@__tvm_parallel_lambda(")
    assert linked(assembly, llvm) == {".LBB0_1": "i_1", ".LBB0_2": "k"}


def test_jumps_into_a_loop_do_not_end_in_an_error() -> None:
    irreducible = LLVM.replace(
        "  br label %for_body_i_1\n", "  br i1 %c, label %a, label %for_end_k\n", 1
    )
    assert compiled_loops(irreducible.replace("entry:", "entry:\n  %c = icmp eq i32 %n, 1", 1))
