"""Counts the instructions of a kernel's assembly by vector width, and finds its loops.

A loop is a backward branch to a label. Which loop of the kernel's text it came from is not in the
assembly; see :mod:`registry.kernels.looplinks`.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Architecture = Literal["x86-64", "arm64", "other"]

_INSTRUCTION = re.compile(r"^\s+([a-z][a-z0-9.]*)(?:\s+(.*))?$")
_LABEL = re.compile(r"^([.\w$]+):")
#: Labels inside functions and of data; the others are those of functions, some of them private.
_INNER = re.compile(r"^\.L(?:BB|CPI|JTI|tmp|func_|debug_)")
#: Arithmetic on packed floating-point numbers, and dot products of integers.
_PACKED = re.compile(
    r"^v?(?:fn?m(?:add|sub)\d*|add|sub|mul|div|max|min|sqrt|dpb\w*)(?:p[sdh]|pbf16)$"
)
_DOTS = re.compile(r"^(?:v?pdp\w+|v?pmadd\w+|tdp\w+|vdpbf16ps)$")
_SCALAR = re.compile(r"^v?(?:fn?m(?:add|sub)\d*|add|sub|mul|div|max|min|sqrt)s[sdh]$")
_FMA = re.compile(r"^v?fn?m(?:add|sub)\d+[sp][sdh]$")
_ARM_ARITHMETIC = re.compile(r"^f(?:n?ml[as]|n?madd|n?msub|add|sub|mul|div|max\w*|min\w*)$")
_ARM_VECTOR = re.compile(r"\b(?:v\d+\.\d+[bhsd]|z\d+\.[bhsd])")
_ARM_FMA = re.compile(r"^f(?:n?ml[as]|n?madd|n?msub)$")
_JUMP = re.compile(r"^(?:j[a-z]+|b(?:\.[a-z]+)?|cbn?z|tbn?z|bne|beq|blt|bge|bltu|bgeu|bnez|beqz)$")
_X86, _ARM = re.compile(r"%[xyz]mm\d|%r[abcds][xip]"), re.compile(r"\b[vz]\d+\.\d*[bhsd]\b|\bx\d+,")


@dataclass(frozen=True, slots=True)
class InstructionMix:
    """Instructions of a piece of assembly.

    Attributes:
        total: All instructions.
        packed: Floating-point arithmetic and dot products on vectors, with ``widths`` in bits.
        scalar: Floating-point arithmetic on single numbers.
        fma: Fused multiply-adds, of both kinds.
        calls: Calls of other functions.
    """

    total: int = 0
    packed: int = 0
    scalar: int = 0
    fma: int = 0
    calls: int = 0
    widths: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class MachineLoop:
    """A loop of the machine code, in a function: lines from 1, both inclusive, and nesting depth
    from 0."""

    label: str
    function: str
    line: int
    last_line: int
    depth: int
    mix: InstructionMix


def architecture_of(text: str) -> Architecture:
    """The instruction set of an assembly text, by its registers."""
    if _X86.search(text):
        return "x86-64"
    return "arm64" if _ARM.search(text) else "other"


def mix_of(text: str) -> InstructionMix | None:
    """Instructions of a text; ``None`` for instruction sets that are not recognised."""
    architecture = architecture_of(text)
    if architecture == "other":
        return None
    return _mix(text.splitlines(), architecture)


def machine_loops(text: str) -> list[MachineLoop]:
    """Loops of an assembly text by line; outer loops come before the loops they contain."""
    architecture = architecture_of(text)
    lines = text.splitlines()
    labels: dict[str, int] = {}
    functions: dict[str, str] = {}
    ends: dict[str, int] = {}
    function = ""
    for number, line in enumerate(lines, 1):
        if label := _LABEL.match(line):
            function = function if _INNER.match(label[1]) else label[1]
            labels[label[1]], functions[label[1]] = number, function
        elif (match := _INSTRUCTION.match(line)) and _JUMP.match(match[1]):
            place = (match[2] or "").split("#")[0].split(",")[-1].strip()
            if labels.get(place, number) < number:
                ends[place] = number
    spans = sorted(
        ((labels[label], end, label) for label, end in ends.items()),
        key=lambda span: (span[0], -span[1]),
    )
    return [
        MachineLoop(
            label=label,
            function=functions[label],
            line=start,
            last_line=end,
            depth=sum(
                outer <= start and end <= last and (outer, last) != (start, end)
                for outer, last, _ in spans
            ),
            mix=_mix(lines[start - 1 : end], architecture),
        )
        for start, end, label in spans
    ]


def _mix(lines: Sequence[str], architecture: Architecture) -> InstructionMix:
    counts: Counter[str] = Counter()
    widths: Counter[int] = Counter()
    for line in lines:
        match = _INSTRUCTION.match(line)
        if not match:
            continue
        name, operands = match[1], match[2] or ""
        counts["total"] += 1
        counts["calls"] += name in {"call", "callq", "bl", "blr"}
        kind, bits = (_x86 if architecture == "x86-64" else _arm)(name, operands)
        if kind:
            counts[kind] += 1
            counts["fma"] += bool(_FMA.match(name) or _ARM_FMA.match(name))
        if kind == "packed":
            widths[bits] += 1
    return InstructionMix(
        total=counts["total"],
        packed=counts["packed"],
        scalar=counts["scalar"],
        fma=counts["fma"],
        calls=counts["calls"],
        widths=tuple(sorted(widths.items(), reverse=True)),
    )


def _x86(name: str, operands: str) -> tuple[str, int]:
    """``packed``, ``scalar`` or "", and bits of the vectors."""
    if _PACKED.match(name) or _DOTS.match(name):
        registers = (("%zmm", 512), ("%ymm", 256), ("%tmm", 8192))
        return "packed", next((bits for mark, bits in registers if mark in operands), 128)
    return ("scalar", 0) if _SCALAR.match(name) else ("", 0)


def _arm(name: str, operands: str) -> tuple[str, int]:
    vector = _ARM_VECTOR.search(operands)
    if name in {"sdot", "udot", "smmla", "ummla", "usmmla", "bfdot", "bfmmla"} and vector:
        return "packed", 128
    if not _ARM_ARITHMETIC.match(name):
        return "", 0
    return ("packed", 128) if vector else ("scalar", 0)
