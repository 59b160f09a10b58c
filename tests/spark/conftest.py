import importlib.util

# The log and the columns are Arrow's, which only the extra `spark` brings: `make test-spark` runs their tests.
collect_ignore = (
    []
    if importlib.util.find_spec("pyarrow")
    else ["test_log.py", "test_receiving.py", "test_rows.py", "test_sending.py", "test_showing.py"]
)
