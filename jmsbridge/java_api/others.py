"""Java methods beyond the interfaces of the API: listeners, exceptions, requestors, and Spring's classes for JMS.

The lines have the form of ``interfaces``; the words on the Java side are Java types, and ``…`` stands for any
parameters. What a Python program writes is text, because some of it is not a single call.
"""

from dataclasses import dataclass
from functools import cache

__all__ = ["CLASSES", "EXTENDED", "Other", "others"]

_LISTENER = "void onMessage(Message) | the listener is a function of the message"
_EXCEPTION = """
    String getErrorCode() | error.error_code
    Exception getLinkedException() | error.__cause__
    void setLinkedException(Exception) | raise … from cause
    String getMessage() | str(error)
    Throwable getCause() | error.__cause__
    void printStackTrace() | logging.exception(…)
"""
_REQUESTOR = """
    Message request(Message) | request(…), or Template.request(queue, …, timeout=…)
    void close() | close()
"""
_SENDING = """
    void send(…) | Template.send(destination, message)
    void convertAndSend(…) | Template.send(destination, value)
    Message sendAndReceive(…) | Template.request(destination, value, timeout=…)
    Object convertSendAndReceive(…) | Template.request(destination, value, Kind, timeout=…)
    Message receive(…) | Template.receive(destination, timeout=…)
    Object receiveAndConvert(…) | Template.receive(destination, Kind, timeout=…)
    Message receiveSelected(…) | Template.receive(destination, selector=…, timeout=…)
    Object receiveSelectedAndConvert(…) | Template.receive(destination, Kind, selector=…, timeout=…)
    Object browse(…) | Template.browse(queue)
    Object browseSelected(…) | Template.browse(queue, selector=…)
    Object execute(…) | with template.in_transaction() as transaction: …
"""
_SETTINGS = """
    void setDefaultDestination(Destination) | the destination is an argument of Template.send
    void setDefaultDestinationName(String) | the destination is an argument of Template.send
    Destination getDefaultDestination() | the destination is an argument of Template.send
    String getDefaultDestinationName() | the destination is an argument of Template.send
    void setConnectionFactory(ConnectionFactory) | Template(target)
    ConnectionFactory getConnectionFactory() | Template(target)
    void setMessageConverter(MessageConverter) | Template(converter=JsonConverter({…}))
    MessageConverter getMessageConverter() | Template(converter=…)
    void setReceiveTimeout(long) | timeout=… in seconds, an argument of receive and request
    void setTimeToLive(long) | Template.send(…, time_to_live=…) in seconds
    void setPriority(int) | Template.send(…, priority=…)
    void setDeliveryMode(int) | Template.send(…, delivery_mode=…)
    void setDeliveryPersistent(boolean) | Template.send(…, delivery_mode=…)
    void setDeliveryDelay(long) | Template.send(…, delivery_delay=…) in seconds
    void setExplicitQosEnabled(boolean) | not needed: arguments that are given hold
    void setSessionTransacted(boolean) | with template.in_transaction() as transaction: …
    void setSessionAcknowledgeMode(int) | not needed: a receive of a template acknowledges
    void setPubSubDomain(boolean) | the name says it: "topic:news"
    void setPubSubNoLocal(boolean) | create_consumer(…, no_local=True) of a session
    JmsTemplate getJmsTemplate() | Template
    void setJmsTemplate(JmsTemplate) | Template
"""
_CLIENT = """
    JmsClient create(…) | Template(target)
    OperationSpec destination(…) | the first argument of send, receive and request
"""
_CLIENT_STEPS = """
    OperationSpec withReceiveTimeout(long) | timeout=… in seconds
    OperationSpec withDeliveryDelay(long) | delivery_delay=… in seconds
    OperationSpec withDeliveryPersistent(boolean) | delivery_mode=…
    OperationSpec withPriority(int) | priority=…
    OperationSpec withTimeToLive(long) | time_to_live=… in seconds
    void send(…) | Template.send(destination, value)
    Object receive(…) | Template.receive(destination, Kind, timeout=…)
    Object sendAndReceive(…) | Template.request(destination, value, Kind, timeout=…)
"""
_FACTORY = """
    void setConnectionFactory(ConnectionFactory) | App(target)
    void setMessageConverter(MessageConverter) | App(converter=…)
    void setConcurrency(String) | app.listener(…, concurrency=…)
    void setSessionTransacted(boolean) | app.listener(…, transacted=…)
    void setSessionAcknowledgeMode(int) | app.listener(…, acknowledge=…)
    void setErrorHandler(ErrorHandler) | app.listener(…, on_error=…)
    void setPubSubDomain(boolean) | the name says it: "topic:news"
    void setSubscriptionDurable(boolean) | app.listener(…, subscription=…)
    void setSubscriptionShared(boolean) | app.listener(…, shared=…)
    void setClientId(String) | App(target, client_id=…)
"""

CLASSES: dict[str, str] = {
    "MessageListener": _LISTENER,
    "ExceptionListener": "void onException(JMSException) | the listener is a function of the error",
    "CompletionListener": "void onCompletion(Message) | on_completion(message)\n"
    "void onException(Message, Exception) | on_exception(message, error)",
    "JMSException": _EXCEPTION,
    "JMSRuntimeException": _EXCEPTION,
    "QueueRequestor": _REQUESTOR,
    "TopicRequestor": _REQUESTOR,
    "JmsTemplate": _SENDING + _SETTINGS,
    "JmsMessagingTemplate": _SENDING + _SETTINGS,
    "JmsClient": _CLIENT,
    "OperationSpec": _CLIENT_STEPS,
    "DefaultJmsListenerContainerFactory": _FACTORY,
    "DefaultMessageListenerContainer": _FACTORY
    + """
    void setDestination(Destination) | app.listener(destination)
    void setDestinationName(String) | app.listener("name")
    void setMessageListener(Object) | app.listener(…)(function)
    void setMessageSelector(String) | app.listener(…, selector=…)
    void setSubscriptionName(String) | app.listener(…, subscription=…)
    void setDurableSubscriptionName(String) | app.listener(…, subscription=…)
    void setConcurrentConsumers(int) | app.listener(…, concurrency=…)
    void setMaxConcurrentConsumers(int) | app.listener(…, concurrency=(…, …))
    void start() | app.start()
    void stop() | app.stop()
    void shutdown() | app.stop()
""",
}
"""The lines of each class, by its simple name."""

EXTENDED: dict[str, str] = {
    "JmsOperations": "JmsTemplate",
    "JmsMessageOperations": "JmsMessagingTemplate",
    "SimpleJmsListenerContainerFactory": "DefaultJmsListenerContainerFactory",
    "SimpleMessageListenerContainer": "DefaultMessageListenerContainer",
}
"""Classes that have the lines of another one."""


@dataclass(frozen=True)
class Other:
    """One method: what it returns, its parameters (None: any), and what a Python program writes."""

    returns: str
    java: str
    takes: tuple[str, ...] | None
    shown: str


@cache
def others(name: str) -> tuple[Other, ...]:
    """The lines of one class; none for a class that has none."""
    text = CLASSES.get(EXTENDED.get(name, name), "")
    return tuple(_parsed(line.strip()) for line in text.splitlines() if line.strip())


def _parsed(line: str) -> Other:
    java, _, shown = line.partition(" | ")
    returns, _, call = java.partition(" ")
    method, _, inside = call.rstrip(")").partition("(")
    takes = None if inside == "…" else tuple(each.strip() for each in inside.split(",") if each.strip())
    return Other(returns, method, takes, shown)
