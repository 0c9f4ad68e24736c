"""Machine loops of a kernel that TVM compiled are linked to the loops of its schedule."""

from typing import Any

import pytest

from registry.kernels.assembly import machine_loops
from registry.kernels.looplinks import link_loops
from registry.kernels.tir import loops_of
from tests.programs import needs
from workers.backends.tvm.code import sources_of
from workers.backends.tvm.targets import target_of
from workers.testing.backend_contract import this_target

pytestmark = [needs("tvm"), pytest.mark.slow]


def scheduled() -> Any:
    """A product of 128 x 64 by 64 x 256 and its activation, tiled, vectorised and parallel."""
    import tvm  # noqa: PLC0415  heavy
    from tvm import te  # noqa: PLC0415

    a, b = te.placeholder((128, 64), name="A"), te.placeholder((64, 256), name="B")
    k = te.reduce_axis((0, 64), "k")
    product = te.compute((128, 256), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    rectified = te.compute((128, 256), lambda i, j: te.max(product[i, j], 0.0), name="D")
    function = te.create_prim_func([a, b, rectified]).with_attr("global_symbol", "product")
    schedule = tvm.s_tir.Schedule(tvm.IRModule({"product": function}))
    schedule.work_on("product")
    block = schedule.get_sblock("C")
    rows, columns, sums = schedule.get_loops(block)
    outer_rows, inner_rows = schedule.split(rows, [None, 4])
    outer_columns, inner_columns = schedule.split(columns, [None, 32])
    outer_sums, inner_sums = schedule.split(sums, [None, 4])
    schedule.reorder(outer_rows, outer_columns, outer_sums, inner_sums, inner_rows, inner_columns)
    schedule.vectorize(inner_columns)
    schedule.unroll(inner_rows)
    schedule.parallel(schedule.fuse(outer_rows, outer_columns))
    fused = schedule.get_loops(block)[0]
    schedule.reverse_compute_at(schedule.get_sblock("D"), fused)
    schedule.decompose_reduction(block, outer_sums)
    return schedule.mod


def test_the_loops_that_remain_are_found_in_the_machine_code() -> None:
    import tvm  # noqa: PLC0415

    module = scheduled()
    library = tvm.compile(module, target=target_of(this_target()))
    code = sources_of(library.mod, ["product"])["product"]
    loops = loops_of(module["product"].script())
    machine = machine_loops(code["asm"])
    links = link_loops(machine, code["llvm"], loops)
    assert links
    by_name = {loops[number].name: machine[at] for at, number in links.items()}
    # The inner sums are unrolled by LLVM, rows and columns by the schedule.
    assert by_name.keys() >= {"i_0_j_0_fused", "k_0"}
    assert "k_1" not in by_name
    # The loop over the sums is where the products are.
    assert by_name["k_0"].mix.packed == max(one.mix.packed for one in machine if one.depth == 1)
    assert by_name["k_0"].depth == by_name["i_0_j_0_fused"].depth + 1
