"""Finds product code that no product code uses: ``python -m tests.architecture.dead_code``.

Vulture finds the names that are defined and used nowhere. A name counts as used here, too, if a
string names it (an import path, a column, the key of a document) or a template does, and if it is
one of the names that a framework calls. What only a test uses is dead.
"""

import ast
import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from vulture import Vulture

ROOT = Path(__file__).parents[2]
PRODUCT = ("hub", "registry", "workers", "client/hpcfair", "benchmarks", "examples", "manage.py")

#: Names that others call, by the path they may stand in.
CALLED_BY_OTHERS = {
    # Django: settings, apps, commands, tables, forms, views, addresses
    "hub/settings/*": "[A-Z]*",
    "*/apps.py": "*Config verbose_name default_auto_field",
    "hub/management/*": "Command help add_arguments requires_system_checks",
    "registry/tables/*": "Meta verbose_name* indexes *_at *_by is_stray awaits_chunks",
    "registry/fair/crate/measurements.py": "latency_ns",
    "hub/pages/*": "clean_* allow_multiple_selected redirect_authenticated_user"
    " *template_name get_users send_mail form_class success_url extra_email_context",
    "hub/admin/*": "site_* index_title sortable_by show_* list_* paginator fields actions search_*"
    " has_*_permission get_* lookup_allowed extra_context login password_change disable enable",
    "hub/mail.py": "write_message",
    "hub/files.py": "block_size",
    "*/urls.py": "urlpatterns handler???",
    "hub/hf/xet.py": "_has_been_logged",
    "hub/middleware.py": "streaming_content",
    "hub/logs.py": "msg args exc_info exc_text stack_info",
    "registry/selectors/fair/*": "as_postgresql output_field",
    # Django REST framework and drf-spectacular
    "hub/api/*": "get_* patch authenticate_header select_parser select_renderer format_suffix"
    " content_negotiation_class http_method_names endpoint_inspector_cls authentication_classes"
    " *Scheme target_class auto_schema",
    # the standard library's protocols; PyYAML
    "*": "__getattr__ __dir__ __signature__ exc_type exc showwarning seekable readinto sock"
    " handle_starttag handle_endtag handle_data external_attr"
    " ignore_aliases yaml_implicit_resolvers",
    # Celery's signals, click's commands
    "workers/*.py": "_keep_reporting _end_with_the_worker",
    # attributes of torch's modules
    "benchmarks/exports/torch_model.py": "momentum",
    # hooks of hatchling
    "*/hatch_build.py": "ManualPages dependencies initialize",
    "client/hpcfair/commands/*": "list_ detect",
    # options and visitors of runtimes and compilers
    "*/models/folder.py": "graph_optimization_level log_severity_level",
    "client/hpcfair/runtimes/*": "graph_optimization_level execution_mode execution_context"
    " int??_op_num_threads allow_tf32",
    "workers/backends/*": "graph_optimization_level log_severity_level optimized_model_filepath"
    " enable_profiling profile_file_prefix get_next smooth_quant_alphas profiling_verbosity"
    " builder_optimization_level report_layer_time visit_* _check_for_unsupported_ops"
    " calibrate_tensors_range enable_cpu_mem_arena",
    "benchmarks/compile_profile.py": "run_before_pass run_after_pass",
    # PyTorch's modules
    "benchmarks/exports/*": "forward",
    # what the reference of the manual is written from
    "registry/fair/card/keys.py": "form meaning",
    # what users of the client read
    "client/hpcfair/*": "base_revision is_best Export run_async",
    # members of enumerations, whose values the database and documents hold
    "registry/states.py": "[A-Z]*",
    "registry/scenarios.py": "[A-Z]*",
    # the backend that makes mistakes, for tests of the engine
    "workers/backends/fake/*": "FaultyBackend",
}

_NAME_IN_STRING = re.compile(r"[\w.\-]*(:\w+)?")
_TAG = re.compile(r"{[{%](.*?)[%}]}", re.DOTALL)


def main() -> int:
    """Print each dead name with its place; 1 if there is one."""
    named = set(_names_in_strings()) | set(_names_in_templates())
    finder = Vulture()
    finder.scavenge([str(ROOT / part) for part in PRODUCT], exclude=["*/migrations/*"])
    dead = [
        f"{path}:{item.first_lineno}: unused {item.typ} '{item.name}'"
        for item in finder.get_unused_code()
        if item.typ != "import"  # ruff finds these, and understands annotations in strings
        and not (path := str(Path(item.filename).relative_to(ROOT))).startswith("workers/testing/")
        and item.name not in named
        and not _is_called_by_others(path, item.name)
    ]
    print("\n".join(dead) or "no dead code")
    return bool(dead)


def _is_called_by_others(path: str, name: str) -> bool:
    return any(
        fnmatchcase(name, pattern)
        for place, names in CALLED_BY_OTHERS.items()
        if fnmatchcase(path, place)
        for pattern in names.split()
    )


def _names_in_strings() -> Iterator[str]:
    """``b`` and ``c`` of each string of product code like ``a.b:c`` or ``a__b__c``."""
    for file in (file for part in PRODUCT for file in (ROOT / part).rglob("*.py")):
        if "migrations" in file.parts:
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            text = node.value if isinstance(node, ast.Constant) else None
            if isinstance(text, str) and _NAME_IN_STRING.fullmatch(text):
                yield from re.split(r"[.:\-]|__", text)


def _names_in_templates() -> Iterator[str]:
    for file in (ROOT / "templates").rglob("*.html"):
        for tag in _TAG.findall(file.read_text()):
            yield from re.findall(r"\w+", tag)


if __name__ == "__main__":
    sys.exit(main())
