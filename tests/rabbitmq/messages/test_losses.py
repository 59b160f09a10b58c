"""The page of what does not survive says what the code says."""

from pathlib import Path

from jmsbridge_rabbitmq.broker.erlang_selector import FAULTS
from jmsbridge_rabbitmq.messages.losses import LOSSES

PAGES = Path(__file__).parents[3] / "docs" / "backends"
PAGE = PAGES / "rabbitmq-messages.md"


def test_the_page_has_the_losses_of_the_code() -> None:
    amqp, jms = LOSSES["amqp"], LOSSES["jms"]
    both = {name: why for name, why in amqp.items() if name in jms}
    assert {name: jms[name] for name in both} == both
    expected = [f"| both | {name} | {why} |" for name, why in both.items()]
    for dialect, table in LOSSES.items():
        expected += [f"| {dialect} | {name} | {why} |" for name, why in table.items() if name not in both]
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = lines.index("| dialect | what | why |") + 2
    assert lines[start : lines.index("", start)] == expected


def test_the_page_has_the_faults_of_the_plugin() -> None:
    lines = (PAGES / "rabbitmq.md").read_text(encoding="utf-8").splitlines()
    start = lines.index("| what | the plugin |") + 2
    assert lines[start : lines.index("", start)] == [f"| {what} | {how} |" for what, how in FAULTS.items()]
