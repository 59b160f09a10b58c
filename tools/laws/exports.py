"""The export law: every module lists its public names in ``__all__``, and the list is right."""

import ast
from collections.abc import Iterator

from tools.laws.source import ROOT, Source, Violation, top_level

__all__ = ["check"]

_NOT_EXPORTED = {"logger", "log"}


def check(source: Source) -> Iterator[Violation]:
    """``__all__`` exists, has only names of the module, and has every public definition."""
    if (
        source.within(
            "tests",
            "bench",
            "jmsbridge/testing/sample",
            "examples/from_java",
            "examples/from_spring",
            "examples/from_faststream",
        )
        or source.path.name == "__main__.py"
        or _has_cases(source)
    ):
        return
    statement, names = _exported(source.tree)
    if statement is None:
        yield source.broken(1, "the module has no __all__")
        return
    if names is None:
        return  # Computed at run time, as for the suite's star import; importing it is the test.
    defined, imported = _defined(source.tree)
    for name in names:
        if name not in defined | imported | _submodules(source) and not _lazy(source.tree):
            yield source.broken(statement, f"__all__ names {name!r}, which the module does not have")
    if len(set(names)) != len(names):
        yield source.broken(statement, "__all__ names something twice")
    for name in sorted(defined - set(names)):
        if not name.startswith("_") and name not in _NOT_EXPORTED:
            yield source.broken(statement, f"{name!r} is public but not in __all__: add it or give it an underscore")


def _has_cases(source: Source) -> bool:
    """Whether its cases are collected by name: test modules, and modules of the compliance suite."""
    if source.within("integration", "examples"):
        in_tests = "tests" in source.path.parts
        return in_tests or source.path.name == "conftest.py" or source.path.name.startswith("test_")
    helps = source.path.stem == "fixtures" or source.path.stem.endswith(("support", "__init__"))
    return source.within("jmsbridge/testing/suite") and not helps


def _exported(tree: ast.Module) -> tuple[ast.stmt | None, list[str] | None]:
    for node in top_level(tree):
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            value = node.value
            try:
                return node, list(ast.literal_eval(value)) if value is not None else None
            except ValueError:
                return node, None
    return None, None


def _submodules(source: Source) -> set[str]:
    if source.path.name != "__init__.py":
        return set()
    folder = ROOT / source.path.parent
    return {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}


def _lazy(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in tree.body)


def _defined(tree: ast.Module) -> tuple[set[str], set[str]]:
    defined: set[str] = set()
    imported: set[str] = set()
    for node in top_level(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            imported |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
            defined |= {name for name in names if not _type_variable(node)}
        elif isinstance(node, ast.For | ast.With):
            imported |= {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
    return defined, imported


def _type_variable(node: ast.Assign | ast.AnnAssign) -> bool:
    call = node.value
    return isinstance(call, ast.Call) and getattr(call.func, "id", "") in {"TypeVar", "ParamSpec", "TypeVarTuple"}
