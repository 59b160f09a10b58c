"""The domain-specific interfaces of JMS 1.x (section 9.2)."""

__all__ = ["DOMAIN"]

_QUEUE_FACTORY = """
    QueueConnection  createQueueConnection()                create_queue_connection()
    QueueConnection  createQueueConnection(String, String)  create_queue_connection(_, _)
"""

_TOPIC_FACTORY = """
    TopicConnection  createTopicConnection()                create_topic_connection()
    TopicConnection  createTopicConnection(String, String)  create_topic_connection(_, _)
"""

_QUEUE_CONNECTION = """
    QueueSession        createQueueSession(boolean, int)    create_queue_session(_, _)
    ConnectionConsumer  createConnectionConsumer(Queue, String, ServerSessionPool, int)  \
create_connection_consumer(_, _, _, _)
"""

_TOPIC_CONNECTION = """
    TopicSession        createTopicSession(boolean, int)    create_topic_session(_, _)
    ConnectionConsumer  createConnectionConsumer(Topic, String, ServerSessionPool, int)  \
create_connection_consumer(_, _, _, _)
"""

_QUEUE_SESSION = """
    QueueReceiver    createReceiver(Queue)                  create_receiver(_)
    QueueReceiver    createReceiver(Queue, String)          create_receiver(_, _)
    QueueSender      createSender(Queue)                    create_sender(_)
"""

_TOPIC_SESSION = """
    TopicSubscriber  createSubscriber(Topic)                   create_subscriber(_)
    TopicSubscriber  createSubscriber(Topic, String, boolean)  create_subscriber(_, _, _)
    TopicPublisher   createPublisher(Topic)                    create_publisher(_)
"""

_SENDER = """
    Queue            getQueue()                             queue
    void             send(Queue, Message)                   send(_, _)
    void             send(Queue, Message, int, int, ms)     send(_, _, delivery_mode, priority, time_to_live)
"""

_PUBLISHER = """
    Topic            getTopic()                             topic
    void             publish(Message)                       publish(_)
    void             publish(Message, int, int, ms)         publish(_, delivery_mode, priority, time_to_live)
    void             publish(Topic, Message)                publish(_, _)
    void             publish(Topic, Message, int, int, ms)  publish(_, _, delivery_mode, priority, time_to_live)
"""

DOMAIN = {
    "QueueConnectionFactory": _QUEUE_FACTORY,
    "TopicConnectionFactory": _TOPIC_FACTORY,
    "QueueConnection": _QUEUE_CONNECTION,
    "TopicConnection": _TOPIC_CONNECTION,
    "QueueSession": _QUEUE_SESSION,
    "TopicSession": _TOPIC_SESSION,
    "QueueSender": _SENDER,
    "TopicPublisher": _PUBLISHER,
    "QueueReceiver": "\n    Queue            getQueue()                             queue\n",
    "TopicSubscriber": "\n    Topic            getTopic()                             topic\n"
    "    boolean          getNoLocal()                           no_local\n",
}
"""The lines of the domain-specific interfaces, without inherited ones."""
