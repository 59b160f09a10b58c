"""URLs that are refused before anything connects."""

import pytest

from jmsbridge import JMSException, connect


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("stomp://h/shop", r"stomp://h/shop: a URL of stomp has no path; for a virtual host write \?virtual_host=shop"),
        ("pulsar://h/public/default", "a URL of pulsar has no path; leave it out"),
    ],
)
def test_a_path_that_would_be_ignored(url: str, said: str) -> None:
    with pytest.raises(JMSException, match=said):
        connect(url)
