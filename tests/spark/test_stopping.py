"""A job that is asked to stop while it waits for its query; Java, which the signal may have reached, too, is gone."""

import logging
import signal

import pytest
from py4j.protocol import Py4JError

from jmsbridge.cli.running import Interrupted
from jmsbridge.spark import jobs


class Gone:
    """A query and a session of a Java that has ended: py4j logs each call, with a trace, and raises."""

    def awaitTermination(self, timeout: float) -> bool:  # noqa: N802  # Spark's name
        signal.raise_signal(signal.SIGTERM)
        return self.stop()

    def stop(self) -> bool:
        logging.getLogger().error("Exception while sending command.")
        raise Py4JError("Java is gone")

    @property
    def recentProgress(self) -> list[object]:  # noqa: N802  # Spark's name
        self.stop()
        return []


def test_a_java_that_ended_with_the_job_leaves_no_traces_of_py4j(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = Gone()
    with pytest.raises(Interrupted):
        jobs._wait(gone, "moved", gone)
    jobs._stop(gone)
    assert caplog.records == []
    assert capsys.readouterr().err == "interrupted\nat least 0 moved\n"
    logging.getLogger().error("from now on errors are logged again")
    assert len(caplog.records) == 1
