"""TVM's passes as a menu, without TVM."""

from dataclasses import replace
from pathlib import Path

from workers.backends.tvm import passes
from workers.backends.tvm.backend import TvmBackend
from workers.engine.passes.factors import drop, insert, swap
from workers.engine.passes.menu import DEFAULT, PassBackend
from workers.engine.types import TargetSpec
from workers.testing import networks

BACKEND = TvmBackend()
X86 = TargetSpec("x86-64-avx2", "x86-64", frozenset({"avx2"}), 2, None)


def test_every_change_of_one_pass_is_legal_or_known_not_to_be(tmp_path: Path) -> None:
    network = networks.write(networks.residual_cnn(), tmp_path / "model")
    assert isinstance(BACKEND, PassBackend)
    menu = BACKEND.menu(network, X86)
    assert menu.legal(menu.default)
    assert menu.legal(menu.full)
    for name in menu.default:
        if name not in menu.needed:
            assert menu.legal(drop(menu, name).apply(menu.default)), name
    assert "FuseTIR" not in drop(menu, "FuseOps").apply(menu.default)
    assert {"ConvertLayout", "FoldWeights"} <= {*menu.extras()}
    for name in menu.extras():
        assert menu.legal(insert(menu, name).apply(menu.default)), name
    assert not menu.legal(swap("FuseOps", "FuseTIR").apply(menu.default))
    assert menu.value(()) == "LegalizeOps"


def test_lists_become_options_of_its_space(tmp_path: Path) -> None:
    network = networks.write(networks.residual_cnn(), tmp_path / "model")
    menu = BACKEND.menu(network, X86)
    lean = passes.option_of(drop(menu, "FoldConstant").apply(menu.default))
    served = replace(network, passes={"tvm": (lean,)})
    assert BACKEND.space(served, X86).contains(menu.candidate(lean))
    assert BACKEND.space(network, X86).contains(menu.candidate("default"))
    tuned = replace(network, schedules_path=tmp_path / "schedules.jsonl")
    assert BACKEND.menu(tuned, X86).options["schedules"] == "database"


def test_tuned_convolutions_are_studied_in_the_layout_they_are_tuned_for(tmp_path: Path) -> None:
    network = networks.write(networks.residual_cnn(), tmp_path / "model")
    tuned = BACKEND.menu(replace(network, schedules_path=tmp_path / "schedules.jsonl"), X86)
    untuned = BACKEND.menu(network, X86)
    assert untuned.candidate(DEFAULT)["passes"] == "default"
    assert tuned.candidate(DEFAULT)["passes"] == passes.option_of(tuned.default)
    for names in (tuned.default, tuned.full):
        assert "ConvertLayout" in names
        # Ours is what the study tries beside TVM's own.
        assert "FoldWeights" not in names
        assert tuned.legal(names)
    assert {*passes.FULL} < {*tuned.full}


def test_lists_held_for_good_are_legal(tmp_path: Path) -> None:
    for made in (networks.residual_cnn(), networks.mlp()):
        menu = BACKEND.menu(networks.write(made, tmp_path / made.graph.name), X86)
        assert menu.promising
        for value in menu.promising:
            assert "FoldWeights" in passes.pipeline_of(value).names
