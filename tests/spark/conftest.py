import importlib.util

# The log and the columns are Arrow's, which only the extra `spark` brings: `make test-spark` runs their tests.
_OF_ARROW = ("log", "lost_links", "power_loss", "receiving", "rows", "sending", "showing", "staging", "stream")
collect_ignore = [] if importlib.util.find_spec("pyarrow") else [f"test_{name}.py" for name in _OF_ARROW]
