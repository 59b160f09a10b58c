"""Request and reply, browsing, durable subscriptions, administration, and the interfaces of JMS 1.x."""

from collections.abc import Iterator
from typing import assert_type

import jmsbridge
from jmsbridge import DestinationInfo, InDoubt, JMSError, Message, TextMessage
from jmsbridge.domain import QueueConnectionFactory, QueueRequestor, QueueSession


def serve(session: jmsbridge.Session) -> None:
    def reply(request: Message) -> None:
        if request.jms_reply_to is not None:
            session.create_producer(None).send(request.jms_reply_to, "42")

    session.create_consumer(session.create_queue("questions")).message_listener = reply


def ask(url: str) -> str:
    with QueueConnectionFactory(url).create_queue_connection() as connection:
        connection.start()
        serve(connection.create_queue_session())
        session = assert_type(connection.create_queue_session(QueueSession.AUTO_ACKNOWLEDGE), QueueSession)
        requestor = QueueRequestor(session, session.create_queue("questions"))
        answer = assert_type(requestor.request("6 * 7", timeout=5), Message | None)
        requestor.close()
        return answer.text or "" if isinstance(answer, TextMessage) else "no answer"


def texts(browser: Iterator[Message]) -> list[str | None]:
    return [message.get_body(str) for message in browser]


def main(url: str) -> list[str]:
    found = [ask(url)]
    with jmsbridge.context(url, client_id="reader") as context:
        news, odd = context.create_topic("news"), context.create_queue("a,b", literal=True)
        context.create_durable_consumer(news, "archive", no_local=False).close()
        context.create_producer().send(odd, "odd")
        with context.create_browser(odd) as browser:
            found += [text or "" for text in texts(iter(browser))]
        listed = assert_type(context.admin.list(), list[DestinationInfo])
        found += [f"{info.destination} {info.depth}" for info in listed if info.destination == odd]
        try:
            context.unsubscribe("archive")
        except InDoubt as error:
            assert_type(error.unknown, tuple[Message, ...])
        except JMSError as error:
            found.append(error.reason)
    return found
