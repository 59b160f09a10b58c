"""The example of a backend stays as small as the page says."""

from tools.laws.source import ROOT


def test_the_backend_for_redis_streams_is_small() -> None:
    files = (ROOT / "examples" / "redis_streams" / "redis_jms").glob("*.py")
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= 610
