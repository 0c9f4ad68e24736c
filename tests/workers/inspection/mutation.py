"""Structure-aware mutation: valid protobuf, whatever it may mean.

Bytes flipped at random almost always die in the parser. These mutants parse: a random field of a
random message somewhere inside the model is changed, cleared, copied or filled with a value that
hurts.
"""

import random
from typing import Any

import onnx
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

_INTEGERS = (0, 1, -1, 2, 3, 7, 16, 64, 255, 2**31 - 1, -(2**31), 2**31, 2**62, -(2**63), 2**63 - 1)
_FLOATS = (0.0, -1.0, 1e38, float("inf"), float("nan"))
_TEXTS = (
    "",
    "x",
    "..",
    "../up",
    "/etc/passwd",
    "Conv",
    "Loop",
    "If",
    "MatMul",
    "Reshape",
    "Attention",
    "com.microsoft",
    "ai.onnx.ml",
    "\x00",
    "\u202e",
    "a" * 300,
)
_NARROW = {FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_UINT32}


def mutate(model: onnx.ModelProto, random_: random.Random, changes: int) -> onnx.ModelProto:
    """A copy of ``model`` with ``changes`` random changes."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for _ in range(changes):
        message = random_.choice(_messages(copy))
        _change(message, random_, copy)
    return copy


def _messages(root: Message) -> list[Message]:
    found, stack = [], [root]
    while stack:
        message = stack.pop()
        found.append(message)
        for field, value in message.ListFields():
            if field.type == FieldDescriptor.TYPE_MESSAGE:
                stack.extend(value if field.is_repeated else [value])
    return found


def _change(message: Message, random_: random.Random, root: Message) -> None:
    field = random_.choice(message.DESCRIPTOR.fields)
    if field.is_repeated:
        _change_list(getattr(message, field.name), field, random_, root)
    elif random_.random() < 0.2:
        message.ClearField(field.name)
    elif field.type == FieldDescriptor.TYPE_MESSAGE:
        other = _same_kind(root, field, random_)
        if other is not None:
            getattr(message, field.name).CopyFrom(other)
    else:
        setattr(message, field.name, _value(field, random_, root))


def _change_list(
    values: Any, field: FieldDescriptor, random_: random.Random, root: Message
) -> None:
    is_message = field.type == FieldDescriptor.TYPE_MESSAGE
    action = random_.choice(("remove", "repeat", "add", "swap"))
    if action == "remove" and values:
        del values[random_.randrange(len(values))]
    elif action == "swap" and len(values) > 1:
        kept = list(values)
        random_.shuffle(kept)
        copies = [_copy(value) if is_message else value for value in kept]
        del values[:]
        values.extend(copies)
    elif action == "repeat" and values:
        chosen = random_.choice(list(values))
        values.append(_copy(chosen) if is_message else chosen)
    elif is_message:
        other = _same_kind(root, field, random_)
        if other is not None:
            values.append(other)
    else:
        values.append(_value(field, random_, root))


def _same_kind(root: Message, field: FieldDescriptor, random_: random.Random) -> Message | None:
    """A copy of some message of the field's type; small, so that mutants do not explode."""
    candidates = [
        message
        for message in _messages(root)
        if message.DESCRIPTOR is field.message_type and message.ByteSize() < 2000
    ]
    return _copy(random_.choice(candidates)) if candidates else None


def _copy(message: Message) -> Message:
    copy = type(message)()
    copy.CopyFrom(message)
    return copy


def _value(field: FieldDescriptor, random_: random.Random, root: Message) -> Any:
    if field.type == FieldDescriptor.TYPE_ENUM:
        return random_.choice(field.enum_type.values).number
    if field.cpp_type in {FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE}:
        return random_.choice(_FLOATS)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return random_.choice((b"", b"\xff", bytes(8), b"x" * 100))
    if field.type == FieldDescriptor.TYPE_STRING:
        # Names that exist make connections that should not.
        names = [m.name for m in _messages(root) if "name" in m.DESCRIPTOR.fields_by_name]
        return random_.choice((*_TEXTS, random_.choice(names or _TEXTS)))
    value = random_.choice(_INTEGERS)
    if field.type in _NARROW or field.cpp_type == FieldDescriptor.CPPTYPE_INT32:
        value = (value + 2**31) % 2**32 - 2**31
    return abs(value) if field.cpp_type == FieldDescriptor.CPPTYPE_UINT64 else value
