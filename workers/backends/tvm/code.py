"""Low-level code of single kernels, cut out of that of a whole library."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

#: How TVM spells a kernel's entry in the code.
_ENTRY = "__tvm_ffi_"
_LABEL = re.compile(r"^([A-Za-z_$][\w$.]*):")
_FUNCTION = re.compile(r"^\s+\.type\s+([\w$.]+),@function", re.MULTILINE)
_DEFINE = re.compile(r"^define [^@]*@\"?([\w$.]+)\"?\(")
_GLOBAL = re.compile(
    r'^extern "C" __global__ void (?:__launch_bounds__\(\d+(?:, \d+)?\) )?(\w+)\(.*\{$'
)
_NAME = re.compile(r"[A-Za-z_$][\w$.]*")
#: Helpers of TVM's runtime, the same in every library.
_RUNTIME = ("__TVM", "__tvm_set_raised", "__tvm_module", "__truncs", "__extend", "__tvm_ffi__")


def sources_of(library: Any, symbols: Iterable[str]) -> dict[str, dict[str, str]]:
    """Kernel to its code: ``llvm`` and ``asm``, or what its accelerator runs.

    Args:
        library: Runtime module of a compiled network.
    """
    names = list(symbols)
    found: dict[str, dict[str, str]] = {name: {} for name in names}
    for module in modules_of(library):
        if module.kind == "llvm":
            for kind, source, cut in (
                ("llvm", module.inspect_source("ll"), _llvm_functions),
                ("asm", module.inspect_source("asm"), _asm_functions),
            ):
                functions = cut(source)
                for name in names:
                    found[name][kind] = kernel_of(name, functions)
        elif module.kind == "cuda":
            functions = _cut(module.inspect_source("cuda"), _GLOBAL, lambda line: line == "}")
            for name in names:
                parts = [text for f, text in functions.items() if f.startswith(f"{name}_kernel")]
                found[name]["cuda"] = "\n".join(parts)
    return found


def kernel_of(symbol: str, functions: Mapping[str, str]) -> str:
    """A kernel's functions: its entry and all it refers to, but those of other kernels."""
    wanted, taken = [_ENTRY + symbol], dict[str, str]()
    while wanted:
        name = wanted.pop()
        if name in taken or name not in functions:
            continue
        taken[name] = functions[name]
        wanted += [
            other
            for other in _NAME.findall(functions[name])
            if other in functions and not other.startswith((_ENTRY, *_RUNTIME))
        ]
    return "\n".join(text for name, text in functions.items() if name in taken)


def modules_of(library: Any) -> Iterator[Any]:
    """A runtime module and all it imports."""
    yield library
    for imported in library.imports:
        yield from modules_of(imported)


def _asm_functions(source: str) -> dict[str, str]:
    """Functions of an assembly text for ELF; labels of data are none."""
    functions = set(_FUNCTION.findall(source))
    found = _cut(source, _LABEL, lambda line: line.startswith(".Lfunc_end"))
    return {name: text for name, text in found.items() if name in functions}


def _llvm_functions(source: str) -> dict[str, str]:
    return _cut(source, _DEFINE, lambda line: line == "}")


def _cut(source: str, start: re.Pattern[str], ends: Any) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in source.splitlines():
        begun = start.match(line)
        if begun:
            current = found.setdefault(begun[1], [])
        if current is not None:
            current.append(line)
            if ends(line):
                current = None
    return {name: "\n".join(lines) + "\n" for name, lines in found.items()}
