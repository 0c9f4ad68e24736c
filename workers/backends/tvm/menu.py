"""TVM's passes as a menu. Does not import TVM: studies use it in the worker."""

from collections.abc import Sequence

from workers.backends.tvm import passes
from workers.backends.tvm.space import DATABASE, FIXED, default_of
from workers.engine.passes.menu import DEFAULT, Menu, Passes
from workers.engine.types import Network, Options, TargetSpec


def menu_of(network: Network, target: TargetSpec) -> Menu:
    """All passes, for static shapes and with the tuned schedules of this network if there are any.

    Convolutions are tuned with channels last, and their schedules fit no other layout. If there are
    schedules, TVM's own lists therefore run behind the layout passes: otherwise tuned code of one
    list would be compared with untuned code of the others.
    """
    options: Options = {**default_of(network, target), "shapes": FIXED}
    del options["passes"]
    has_convolutions, own = "Conv" in network.operators, DEFAULT
    default, full = passes.DEFAULT, passes.FULL
    if network.schedules_path is not None:
        options["schedules"] = DATABASE
        if has_convolutions:
            default, full = map(passes.with_channels_last, (default, full))
            own = passes.option_of(default)
    promising = [passes.CHANNELS_LAST] if has_convolutions else [passes.FOLDED, passes.FOLDED_INTO]
    return Menu(
        options=options,
        default=default,
        own=own,
        full=full,
        promising=tuple(map(passes.option_of, promising)),
        needed=frozenset({"LegalizeOps"}),
        legal=passes.is_legal,
        leave_out=_leave_out,
        ordered=True,
        nothing="LegalizeOps",
        more=("FoldWeights", *(("ConvertLayout",) if has_convolutions else ())),
    )


def _leave_out(names: Sequence[str], dropped: str) -> Passes:
    return passes.without(names, dropped) if dropped in names else tuple(names)
