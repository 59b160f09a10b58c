"""Objects that a session creates: producers, consumers, browsers, destinations (chapters 4, 7 and 8)."""

__all__ = ["PARTS"]

_PRODUCER = """
    void         setDisableMessageID(boolean)               disable_message_id =
    boolean      getDisableMessageID()                      disable_message_id
    void         setDisableMessageTimestamp(boolean)        disable_message_timestamp =
    boolean      getDisableMessageTimestamp()               disable_message_timestamp
    void         setDeliveryMode(int)                       delivery_mode =
    int          getDeliveryMode()                          delivery_mode
    void         setPriority(int)                           priority =
    int          getPriority()                              priority
    void         setTimeToLive(ms)                          time_to_live =
    ms           getTimeToLive()                            time_to_live
    void         setDeliveryDelay(ms)                       delivery_delay =
    ms           getDeliveryDelay()                         delivery_delay
    Destination  getDestination()                           destination
    void         close()                                    close()
    void         send(Message)                              send(_)
    void         send(Message, int, int, ms)                send(_, delivery_mode, priority, time_to_live)
    void         send(Destination, Message)                 send(_, _)
    void         send(Destination, Message, int, int, ms)   send(_, _, delivery_mode, priority, time_to_live)
    void         send(Message, CompletionListener)          send(_, completion_listener)
    void         send(Destination, Message, CompletionListener)           send(_, _, completion_listener)
    void         send(Message, int, int, ms, CompletionListener)  \
send(_, delivery_mode, priority, time_to_live, completion_listener)
    void         send(Destination, Message, int, int, ms, CompletionListener)  \
send(_, _, delivery_mode, priority, time_to_live, completion_listener)
"""

_CONSUMER = """
    String           getMessageSelector()                   message_selector
    MessageListener  getMessageListener()                   message_listener
    void             setMessageListener(MessageListener)    message_listener =
    Message          receive()                              receive()
    Message          receive(timeout)                       receive(timeout)
    Message          receiveNoWait()                        receive_no_wait()
    void             close()                                close()
"""

_BROWSER = """
    Queue        getQueue()                                 queue
    String       getMessageSelector()                       message_selector
    Messages     getEnumeration()                           enumeration
    void         close()                                    close()
"""

_QUEUE = """
    String       getQueueName()                             queue_name
    String       toString()                                 __str__()
"""

_TOPIC = """
    String       getTopicName()                             topic_name
    String       toString()                                 __str__()
"""

_TEMPORARY = """
    void         delete()                                   delete()
"""

PARTS = {
    "MessageProducer": _PRODUCER,
    "MessageConsumer": _CONSUMER,
    "QueueBrowser": _BROWSER,
    "Queue": _QUEUE,
    "Topic": _TOPIC,
    "TemporaryQueue": _TEMPORARY,
    "TemporaryTopic": _TEMPORARY,
}
"""The lines of the objects that a session creates."""
