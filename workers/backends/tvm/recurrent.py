"""Recurrent operators, which TVM's importer lacks, step by step.

Each step of the sequence becomes operators of its own, so the length must be known and short:
compile time grows with it. The equations are those of ``LSTM`` and ``GRU`` in ONNX's
operator reference.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tvm import relax
from tvm.ir import GenericConst
from tvm.tirx import IntImm

from workers.engine.errors import InvalidCandidate

#: Steps of all directions of one operator.
_MOST_STEPS = 128
#: Positions among the inputs of both operators.
_X, _W, _R, _B, _LENGTHS, _H, _C, _PEEPHOLES = range(8)
_DIRECTIONS: dict[str, tuple[int, ...]] = {
    "forward": (1,),
    "reverse": (-1,),
    "bidirectional": (1, -1),
}
_UNSUPPORTED = ("activations", "clip", "input_forget")

#: Computes the next states from the input's share of the gates, the states, the weights of the
#: recurrence and their bias.
_Step = Callable[[Any, Sequence[Any], Any, Any], list[Any]]


class Recurrence:
    """Writes one recurrent operator into a function under construction.

    Raises InvalidCandidate for what is not supported.
    """

    def __init__(self, builder: Any, inputs: Sequence[Any], attributes: dict[str, Any]) -> None:
        self._builder = builder
        self._inputs = [*inputs, *[None] * (_PEEPHOLES + 1 - len(inputs))]
        self._attributes = attributes
        unsupported = [name for name in _UNSUPPORTED if attributes.get(name)]
        if attributes.get("layout"):
            unsupported.append("layout")
        if self._inputs[_LENGTHS] is not None:
            unsupported.append("sequence_lens")
        if self._inputs[_PEEPHOLES] is not None:
            unsupported.append("peepholes")
        if unsupported:
            raise InvalidCandidate(f"it has {', '.join(unsupported)}")
        shape = self._inputs[_X].ty.shape
        self._length, self._batch = shape[0], shape[1]
        if not isinstance(self._length, IntImm):
            raise InvalidCandidate("its sequence has a variable length")
        direction = attributes.get("direction", "forward")
        name = direction.decode() if isinstance(direction, bytes) else direction
        self._directions = _DIRECTIONS[name]
        if int(self._length) * len(self._directions) > _MOST_STEPS:
            raise InvalidCandidate(
                f"its sequence has {int(self._length)} steps; up to {_MOST_STEPS} are supported"
            )

    def lstm(self) -> Any:
        """The outputs of ``LSTM``: all hidden states, the last one, the last cell state."""
        return self._run(4, (_H, _C), self._lstm_step)

    def gru(self) -> Any:
        """The outputs of ``GRU``: all hidden states, and the last one."""
        return self._run(3, (_H,), self._gru_step)

    def _run(self, gates: int, states: Sequence[int], step: _Step) -> Any:
        steps = self._split(self._inputs[_X], int(self._length), 0)
        rows: list[list[Any]] = [[] for _ in steps]
        last: list[list[Any]] = [[] for _ in states]
        for number, direction in enumerate(self._directions):
            size = int(self._inputs[_R].ty.shape[2])
            bias_of_input, bias = self._biases(number, gates * size)
            weights, matrix = self._factor(_W, number), self._factor(_R, number)
            state = [self._initial(position, number, size) for position in states]
            order = range(len(steps))[::direction]
            for at in order:
                share = self._emit(
                    relax.op.add(self._emit(relax.op.matmul(steps[at], weights)), bias_of_input)
                )
                state = step(share, state, matrix, bias)
                rows[at].append(state[0])
            for kind, value in enumerate(state):
                last[kind].append(value)
        stacked = [self._emit(relax.op.stack(row, axis=0)) for row in rows]
        hidden = self._emit(relax.op.stack(stacked, axis=0))
        return relax.Tuple([hidden, *(self._emit(relax.op.stack(s, axis=0)) for s in last)])

    def _lstm_step(self, share: Any, state: Sequence[Any], matrix: Any, bias: Any) -> list[Any]:
        hidden, cell = state
        total = self._affine(hidden, matrix, bias)
        gates = self._split(self._emit(relax.op.add(share, total)), 4, 1, squeezed=False)
        take, give, keep = (self._emit(relax.op.sigmoid(gate)) for gate in gates[:3])
        new = self._emit(relax.op.multiply(take, self._emit(relax.op.tanh(gates[3]))))
        cell = self._emit(relax.op.add(self._emit(relax.op.multiply(keep, cell)), new))
        return [self._emit(relax.op.multiply(give, self._emit(relax.op.tanh(cell)))), cell]

    def _gru_step(self, share: Any, state: Sequence[Any], matrix: Any, bias: Any) -> list[Any]:
        (hidden,) = state
        if not self._attributes.get("linear_before_reset"):
            raise InvalidCandidate("it resets before the product")
        total = self._split(self._affine(hidden, matrix, bias), 3, 1, squeezed=False)
        inputs = self._split(share, 3, 1, squeezed=False)
        update, reset = (
            self._emit(relax.op.sigmoid(self._emit(relax.op.add(inputs[gate], total[gate]))))
            for gate in (0, 1)
        )
        remembered = self._emit(relax.op.multiply(reset, total[2]))
        new = self._emit(relax.op.tanh(self._emit(relax.op.add(inputs[2], remembered))))
        # The mean of the new state and the former one, weighted by the update gate.
        change = self._emit(relax.op.multiply(update, self._emit(relax.op.subtract(hidden, new))))
        return [self._emit(relax.op.add(new, change))]

    def _affine(self, hidden: Any, matrix: Any, bias: Any) -> Any:
        return self._emit(relax.op.add(self._emit(relax.op.matmul(hidden, matrix)), bias))

    def _initial(self, position: int, number: int, size: int) -> Any:
        """The initial state of a direction, ``[batch, size]``."""
        value = self._inputs[position]
        if value is None:
            return self._zeros([self._batch, size])
        return self._split(value, len(self._directions), 0)[number]

    def _zeros(self, shape: list[Any]) -> Any:
        return self._emit(relax.op.zeros(relax.ShapeExpr(shape), self._inputs[_X].ty.dtype))

    def _factor(self, position: int, number: int) -> Any:
        """The weights of a direction, as they are multiplied."""
        value = self._of_direction(position, number)
        if isinstance(value, np.ndarray):
            return relax.const(np.ascontiguousarray(value.T))
        return self._emit(relax.op.permute_dims(value))

    def _biases(self, number: int, count: int) -> list[Any]:
        """Biases of the gates for the input, and for the recurrence, ``count`` each."""
        if self._inputs[_B] is None:
            return [self._zeros([count])] * 2
        value = self._of_direction(_B, number)
        if isinstance(value, np.ndarray):
            return [relax.const(value[:count]), relax.const(value[count:])]
        return self._split(value, 2, 0, squeezed=False)

    def _of_direction(self, position: int, number: int) -> Any:
        """An input's part for a direction: an array if the input is constant. Exporters compute
        weights as well, such as gates in another order; those are folded later."""
        value = self._inputs[position]
        if isinstance(value, GenericConst):
            return value.value.numpy()[number]
        return self._split(value, len(self._directions), 0)[number]

    def _split(self, value: Any, parts: int, axis: int, *, squeezed: bool = True) -> list[Any]:
        """Equal parts of a value along an axis, which is removed if ``squeezed``."""
        if parts == 1:
            pieces = [value]
        else:
            whole = self._emit(relax.op.split(value, parts, axis))
            pieces = [self._emit(relax.TupleGetItem(whole, part)) for part in range(parts)]
        if not squeezed:
            return pieces
        return [self._emit(relax.op.squeeze(piece, [axis])) for piece in pieces]

    def _emit(self, value: Any) -> Any:
        return self._builder.emit(value)
