"""An installation is used only if it is complete and was not moved."""

from pathlib import Path

import pytest

from integration.lab.errors import BrokerFailed
from integration.lab.fetching.install import install, installed
from integration.lab.running import places


def fine(folder: Path) -> None:
    assert (folder / "program").exists()


def make(aside: Path, folder: Path) -> None:
    assert not folder.exists()
    (aside / "program").write_text("ok")


def never(aside: Path, folder: Path) -> None:
    raise AssertionError("it is there already")


def test_an_installation_is_made_once(cache: Path) -> None:
    assert installed("it") is None
    folder = install("it", make, fine)
    assert installed("it") == folder
    assert install("it", never, fine) == folder
    assert [path.name for path in folder.parent.iterdir()] == ["it"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, BrokerFailed])
def test_an_interrupted_installation_is_made_again(cache: Path, error: type[BaseException]) -> None:
    def half(aside: Path, folder: Path) -> None:
        (aside / "half").write_text("")
        raise error

    with pytest.raises(error):
        install("it", half, fine)
    assert list(places.installations().iterdir()) == []
    assert (install("it", make, fine) / "program").exists()


def test_an_installation_that_fails_its_check_is_not_used(cache: Path) -> None:
    def bad(folder: Path) -> None:
        raise BrokerFailed("it does not run")

    with pytest.raises(BrokerFailed, match="it does not run"):
        install("it", make, bad)
    assert installed("it") is None
    assert list(places.installations().iterdir()) == []


def test_an_installation_left_incomplete_by_a_kill_is_made_again(cache: Path) -> None:
    for leftover in (".it.part", "it"):
        (places.installations() / leftover).mkdir()
        (places.installations() / leftover / "half").write_text("")
    folder = install("it", make, fine)
    assert not (folder / "half").exists()
    assert [path.name for path in folder.parent.iterdir()] == ["it"]


def test_a_moved_installation_is_made_again(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install("it", make, fine)
    cache.rename(tmp_path / "moved")
    monkeypatch.setenv("JMSBRIDGE_BROKERS_CACHE", str(tmp_path / "moved"))
    assert installed("it") is None
    assert install("it", make, fine) == installed("it")


def test_a_held_lock_is_awaited(cache: Path) -> None:
    with (
        places.file_lock("one"),
        pytest.raises(BrokerFailed, match=r"another process has held .*one\.lock for 0\.1 s"),
        places.file_lock("one", timeout=0.1),
    ):
        raise AssertionError("both hold it")
    with places.file_lock("one", timeout=0.1):
        assert (cache / "locks" / "one.lock").exists()
