"""Factories, connections, and sessions of the classic API (chapters 4 and 6)."""

__all__ = ["CONNECTIONS", "CREATING", "NAMING"]

CREATING = """
    BytesMessage    createBytesMessage()                    create_bytes_message()
    MapMessage      createMapMessage()                      create_map_message()
    Message         createMessage()                         create_message()
    ObjectMessage   createObjectMessage()                   create_object_message()
    ObjectMessage   createObjectMessage(Serializable)       create_object_message(_)
    StreamMessage   createStreamMessage()                   create_stream_message()
    TextMessage     createTextMessage()                     create_text_message()
    TextMessage     createTextMessage(String)               create_text_message(_)
"""
"""Methods that create messages, common to sessions and contexts."""

NAMING = """
    Queue           createQueue(String)                     create_queue(_)
    Topic           createTopic(String)                     create_topic(_)
    QueueBrowser    createBrowser(Queue)                    create_browser(_)
    QueueBrowser    createBrowser(Queue, String)            create_browser(_, _)
    TemporaryQueue  createTemporaryQueue()                  create_temporary_queue()
    TemporaryTopic  createTemporaryTopic()                  create_temporary_topic()
    void            unsubscribe(String)                     unsubscribe(_)
    boolean         getTransacted()                         transacted
    void            commit()                                commit()
    void            rollback()                              rollback()
    void            recover()                               recover()
"""
"""Destinations, browsers and transactions, common to sessions and contexts."""

_FACTORY = """
    Connection      createConnection()                      create_connection()
    Connection      createConnection(String, String)        create_connection(_, _)
    JMSContext      createContext()                         create_context()
    JMSContext      createContext(String, String)           create_context(_, _)
    JMSContext      createContext(String, String, int)      create_context(_, _, _)
    JMSContext      createContext(int)                      create_context(session_mode)
"""

# Connection consumers are not supported, so their server session pool needs no converter.
_CONNECTION = """
    Session             createSession(boolean, int)         create_session(_, _)
    Session             createSession(int)                  create_session(session_mode)
    Session             createSession()                     create_session()
    String              getClientID()                       client_id
    void                setClientID(String)                 client_id =
    ConnectionMetaData  getMetaData()                       meta_data
    ExceptionListener   getExceptionListener()              exception_listener
    void                setExceptionListener(ExceptionListener)  exception_listener =
    void                start()                             start()
    void                stop()                              stop()
    void                close()                             !close_connection
    ConnectionConsumer  createConnectionConsumer(Destination, String, ServerSessionPool, int)  \
create_connection_consumer(_, _, _, _)
    ConnectionConsumer  createSharedConnectionConsumer(Topic, String, String, ServerSessionPool, int)  \
create_shared_connection_consumer(_, _, _, _, _)
    ConnectionConsumer  createDurableConnectionConsumer(Topic, String, String, ServerSessionPool, int)  \
create_durable_connection_consumer(_, _, _, _, _)
    ConnectionConsumer  createSharedDurableConnectionConsumer(Topic, String, String, ServerSessionPool, int)  \
create_shared_durable_connection_consumer(_, _, _, _, _)
"""

_META_DATA = """
    String          getJMSVersion()                         jms_version
    int             getJMSMajorVersion()                    jms_major_version
    int             getJMSMinorVersion()                    jms_minor_version
    String          getJMSProviderName()                    jms_provider_name
    String          getProviderVersion()                    provider_version
    int             getProviderMajorVersion()               provider_major_version
    int             getProviderMinorVersion()               provider_minor_version
    Names           getJMSXPropertyNames()                  jmsx_property_names
"""

_SESSION = """
    int              getAcknowledgeMode()                   acknowledge_mode
    void             close()                                close()
    MessageListener  getMessageListener()                   message_listener
    void             setMessageListener(MessageListener)    message_listener =
    void             run()                                  run()
    MessageProducer  createProducer(Destination)            create_producer(_)
    MessageConsumer  createConsumer(Destination)            create_consumer(_)
    MessageConsumer  createConsumer(Destination, String)    create_consumer(_, _)
    MessageConsumer  createConsumer(Destination, String, boolean)          create_consumer(_, _, _)
    MessageConsumer  createSharedConsumer(Topic, String)                   create_shared_consumer(_, _)
    MessageConsumer  createSharedConsumer(Topic, String, String)           create_shared_consumer(_, _, _)
    TopicSubscriber  createDurableSubscriber(Topic, String)                create_durable_subscriber(_, _)
    TopicSubscriber  createDurableSubscriber(Topic, String, String, boolean)  create_durable_subscriber(_, _, _, _)
    MessageConsumer  createDurableConsumer(Topic, String)                  create_durable_consumer(_, _)
    MessageConsumer  createDurableConsumer(Topic, String, String, boolean) create_durable_consumer(_, _, _, _)
    MessageConsumer  createSharedDurableConsumer(Topic, String)            create_shared_durable_consumer(_, _)
    MessageConsumer  createSharedDurableConsumer(Topic, String, String)    create_shared_durable_consumer(_, _, _)
"""

CONNECTIONS = {
    "ConnectionFactory": _FACTORY,
    "Connection": _CONNECTION,
    "ConnectionMetaData": _META_DATA,
    "Session": CREATING + NAMING + _SESSION,
}
"""The lines of the factory, the connection and the session."""
