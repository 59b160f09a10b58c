"""The simplified API (sections 2.8, 7.2 and 8.1)."""

from jmsbridge.java_api.connections import CREATING, NAMING

__all__ = ["SIMPLIFIED"]

_CONTEXT = """
    JMSContext          createContext(int)                  create_context(_)
    JMSProducer         createProducer()                    create_producer()
    String              getClientID()                       client_id
    void                setClientID(String)                 client_id =
    ConnectionMetaData  getMetaData()                       meta_data
    ExceptionListener   getExceptionListener()              exception_listener
    void                setExceptionListener(ExceptionListener)  exception_listener =
    void                start()                             start()
    void                stop()                              stop()
    void                setAutoStart(boolean)               auto_start =
    boolean             getAutoStart()                      auto_start
    void                close()                             !close_connection
    int                 getSessionMode()                    session_mode
    void                acknowledge()                       acknowledge()
    JMSConsumer         createConsumer(Destination)         create_consumer(_)
    JMSConsumer         createConsumer(Destination, String) create_consumer(_, _)
    JMSConsumer         createConsumer(Destination, String, boolean)          create_consumer(_, _, _)
    JMSConsumer         createDurableConsumer(Topic, String)                  create_durable_consumer(_, _)
    JMSConsumer         createDurableConsumer(Topic, String, String, boolean) create_durable_consumer(_, _, _, _)
    JMSConsumer         createSharedDurableConsumer(Topic, String)            create_shared_durable_consumer(_, _)
    JMSConsumer         createSharedDurableConsumer(Topic, String, String)    create_shared_durable_consumer(_, _, _)
    JMSConsumer         createSharedConsumer(Topic, String)                   create_shared_consumer(_, _)
    JMSConsumer         createSharedConsumer(Topic, String, String)           create_shared_consumer(_, _, _)
"""

# A null body creates a message without body; the overload says of which kind, which Python's None cannot.
_PRODUCER = """
    self         send(Destination, Message)                 send(_, _)
    self         send(Destination, TextBody)                send(_, _)
    self         send(Destination, MapBody)                 send(_, _)
    self         send(Destination, BytesBody)               send(_, _)
    self         send(Destination, ObjectBody)              send(_, _)
    self         setDisableMessageID(boolean)               set_disable_message_id(_)
    boolean      getDisableMessageID()                      disable_message_id
    self         setDisableMessageTimestamp(boolean)        set_disable_message_timestamp(_)
    boolean      getDisableMessageTimestamp()               disable_message_timestamp
    self         setDeliveryMode(int)                       set_delivery_mode(_)
    int          getDeliveryMode()                          delivery_mode
    self         setPriority(int)                           set_priority(_)
    int          getPriority()                              priority
    self         setTimeToLive(ms)                          set_time_to_live(_)
    ms           getTimeToLive()                            time_to_live
    self         setDeliveryDelay(ms)                       set_delivery_delay(_)
    ms           getDeliveryDelay()                         delivery_delay
    self         setAsync(CompletionListener)               set_async(_)
    CompletionListener  getAsync()                          async_listener
    self         setProperty(String, boolean)               set_property(_, _)
    self         setProperty(String, byte)                  set_property(_, _)
    self         setProperty(String, short)                 set_property(_, _)
    self         setProperty(String, int)                   set_property(_, _)
    self         setProperty(String, long)                  set_property(_, _)
    self         setProperty(String, float)                 set_property(_, _)
    self         setProperty(String, double)                set_property(_, _)
    self         setProperty(String, String)                set_property(_, _)
    self         setProperty(String, Object)                set_property(_, _)
    self         clearProperties()                          clear_properties()
    boolean      propertyExists(String)                     property_exists(_)
    boolean      getBooleanProperty(String)                 get_boolean_property(_)
    byte         getByteProperty(String)                    get_byte_property(_)
    short        getShortProperty(String)                   get_short_property(_)
    int          getIntProperty(String)                     get_int_property(_)
    long         getLongProperty(String)                    get_long_property(_)
    float        getFloatProperty(String)                   get_float_property(_)
    double       getDoubleProperty(String)                  get_double_property(_)
    String       getStringProperty(String)                  get_string_property(_)
    Object       getObjectProperty(String)                  get_object_property(_)
    NameSet      getPropertyNames()                         property_names
    self         setJMSCorrelationIDAsBytes(byte[])         set_jms_correlation_id_as_bytes(_)
    byte[]       getJMSCorrelationIDAsBytes()               jms_correlation_id_as_bytes
    self         setJMSCorrelationID(String)                set_jms_correlation_id(_)
    String       getJMSCorrelationID()                      jms_correlation_id
    self         setJMSType(String)                         set_jms_type(_)
    String       getJMSType()                               jms_type
    self         setJMSReplyTo(Destination)                 set_jms_reply_to(_)
    Destination  getJMSReplyTo()                            jms_reply_to
"""

_CONSUMER = """
    String           getMessageSelector()                   message_selector
    MessageListener  getMessageListener()                   message_listener
    void             setMessageListener(MessageListener)    message_listener =
    Message          receive()                              receive()
    Message          receive(timeout)                       receive(timeout)
    Message          receiveNoWait()                        receive_no_wait()
    void             close()                                close()
    Object           receiveBody(Class)                     receive_body(_)
    Object           receiveBody(Class, timeout)            receive_body(_, timeout)
    Object           receiveBodyNoWait(Class)               receive_body_no_wait(_)
"""

SIMPLIFIED = {"JMSContext": CREATING + NAMING + _CONTEXT, "JMSProducer": _PRODUCER, "JMSConsumer": _CONSUMER}
"""The lines of the simplified API."""
