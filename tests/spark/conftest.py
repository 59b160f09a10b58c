import importlib.util

# The log and the columns are Arrow's, which only the extra `spark` brings: `make test-spark` runs their tests.
collect_ignore = (
    []
    if importlib.util.find_spec("pyarrow")
    else [f"test_{name}.py" for name in ("log", "receiving", "rows", "sending", "showing", "staging", "stream")]
)
