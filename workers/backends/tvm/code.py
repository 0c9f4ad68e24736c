"""Extracts the low-level code of single kernels from that of a library."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

#: Prefix of a kernel's entry function.
_ENTRY = "__tvm_ffi_"
_LABEL = re.compile(r"^([A-Za-z_$.][\w$.]*):")
_FUNCTION = re.compile(r"^\s+\.type\s+([\w$.]+),@function", re.MULTILINE)
_DEFINE = re.compile(r"^define [^@]*@\"?([\w$.]+)\"?\(")
_GLOBAL = re.compile(
    r'^extern "C" __global__ void (?:__launch_bounds__\(\d+(?:, \d+)?\) )?(\w+)\(.*\{$'
)
_NAME = re.compile(r"[A-Za-z_$.][\w$.]*")
#: Prefixes of runtime helpers, which are the same in all libraries.
_RUNTIME = ("__TVM", "__tvm_set_raised", "__tvm_module", "__truncs", "__extend", "__tvm_ffi__")


def sources_of(library: Any, symbols: Iterable[str]) -> dict[str, dict[str, str]]:
    """Code of a compiled network's runtime module by kernel and kind: ``llvm`` and ``asm``, or
    ``cuda``."""
    names = list(symbols)
    sources: dict[str, dict[str, str]] = {name: {} for name in names}
    for module in modules_of(library):
        if module.kind == "llvm":
            for kind, source, cut in (
                ("llvm", module.inspect_source("ll"), _llvm_functions),
                ("asm", module.inspect_source("asm"), _asm_functions),
            ):
                functions = cut(source)
                for name in names:
                    sources[name][kind] = kernel_of(name, functions)
        elif module.kind == "cuda":
            functions = _cut(module.inspect_source("cuda"), _GLOBAL, lambda line: line == "}")
            for name in names:
                parts = [text for f, text in functions.items() if f.startswith(f"{name}_kernel")]
                sources[name]["cuda"] = "\n".join(parts)
    return sources


def kernel_of(symbol: str, functions: Mapping[str, str]) -> str:
    """Functions of a kernel: its entry and all functions it refers to, except other kernels."""
    waiting, names = [_ENTRY + symbol], set[str]()
    while waiting:
        name = waiting.pop()
        if name in names or name not in functions:
            continue
        names.add(name)
        waiting += [
            other
            for other in _NAME.findall(functions[name])
            if other in functions and not other.startswith((_ENTRY, *_RUNTIME))
        ]
    return "\n".join(text for name, text in functions.items() if name in names)


def modules_of(library: Any) -> Iterator[Any]:
    """A runtime module and all modules it imports, recursively."""
    yield library
    for imported in library.imports:
        yield from modules_of(imported)


def _asm_functions(source: str) -> dict[str, str]:
    """Functions of an ELF assembly text, without labels of data and of code inside functions.

    The bodies of parallel loops are private functions, whose names begin with ``.L``.
    """
    functions = set(_FUNCTION.findall(source))
    return _cut(source, _LABEL, lambda line: line.startswith(".Lfunc_end"), functions)


def _llvm_functions(source: str) -> dict[str, str]:
    return _cut(source, _DEFINE, lambda line: line == "}")


def _cut(
    source: str, start: re.Pattern[str], ends: Any, names: Collection[str] | None = None
) -> dict[str, str]:
    """Functions from the line that ``start`` matches to the one that ``ends``; those of ``names``
    only, if given."""
    functions: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in source.splitlines():
        match = start.match(line)
        if match and (names is None or match[1] in names):
            current = functions.setdefault(match[1], [])
        if current is not None:
            current.append(line)
            if ends(line):
                current = None
    return {name: "\n".join(lines) + "\n" for name, lines in functions.items()}
