"""Messages (chapter 3)."""

__all__ = ["MESSAGES"]

_MESSAGE = """
    String       getJMSMessageID()                          jms_message_id
    void         setJMSMessageID(String)                    jms_message_id =
    long         getJMSTimestamp()                          jms_timestamp
    void         setJMSTimestamp(long)                      jms_timestamp =
    byte[]       getJMSCorrelationIDAsBytes()               jms_correlation_id_as_bytes
    void         setJMSCorrelationIDAsBytes(byte[])         jms_correlation_id_as_bytes =
    String       getJMSCorrelationID()                      jms_correlation_id
    void         setJMSCorrelationID(String)                jms_correlation_id =
    Destination  getJMSReplyTo()                            jms_reply_to
    void         setJMSReplyTo(Destination)                 jms_reply_to =
    Destination  getJMSDestination()                        jms_destination
    void         setJMSDestination(Destination)             jms_destination =
    int          getJMSDeliveryMode()                       jms_delivery_mode
    void         setJMSDeliveryMode(int)                    jms_delivery_mode =
    boolean      getJMSRedelivered()                        jms_redelivered
    void         setJMSRedelivered(boolean)                 jms_redelivered =
    String       getJMSType()                               jms_type
    void         setJMSType(String)                         jms_type =
    long         getJMSExpiration()                         jms_expiration
    void         setJMSExpiration(long)                     jms_expiration =
    long         getJMSDeliveryTime()                       jms_delivery_time
    void         setJMSDeliveryTime(long)                   jms_delivery_time =
    int          getJMSPriority()                           jms_priority
    void         setJMSPriority(int)                        jms_priority =
    void         clearProperties()                          clear_properties()
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
    Names        getPropertyNames()                         property_names
    void         setBooleanProperty(String, boolean)        set_boolean_property(_, _)
    void         setByteProperty(String, byte)              set_byte_property(_, _)
    void         setShortProperty(String, short)            set_short_property(_, _)
    void         setIntProperty(String, int)                set_int_property(_, _)
    void         setLongProperty(String, long)              set_long_property(_, _)
    void         setFloatProperty(String, float)            set_float_property(_, _)
    void         setDoubleProperty(String, double)          set_double_property(_, _)
    void         setStringProperty(String, String)          set_string_property(_, _)
    void         setObjectProperty(String, Object)          set_object_property(_, _)
    void         acknowledge()                              acknowledge()
    void         clearBody()                                clear_body()
    Object       getBody(Class)                             get_body(_)
    boolean      isBodyAssignableTo(Class)                  is_body_assignable_to(_)
"""

_TEXT = """
    String       getText()                                  text
    void         setText(String)                            text =
"""

# The Java stream keeps the exact class, which Python's values would not.
_OBJECT = """
    Serializable getObject()                                java_stream
    void         setObject(Serializable)                    object =
    Object       getBody(Class)                             !object_body
    boolean      isBodyAssignableTo(Class)                  !object_fits
"""

_BYTES = """
    long         getBodyLength()                            body_length
    boolean      readBoolean()                              read_boolean()
    byte         readByte()                                 read_byte()
    int          readUnsignedByte()                         read_unsigned_byte()
    short        readShort()                                read_short()
    int          readUnsignedShort()                        read_unsigned_short()
    char         readChar()                                 read_char()
    int          readInt()                                  read_int()
    long         readLong()                                 read_long()
    float        readFloat()                                read_float()
    double       readDouble()                               read_double()
    String       readUTF()                                  read_utf()
    int          readBytes(buffer)                          !read_bytes
    int          readBytes(buffer, int)                     !read_bytes
    void         writeBoolean(boolean)                      write_boolean(_)
    void         writeByte(byte)                            write_byte(_)
    void         writeShort(short)                          write_short(_)
    void         writeChar(char)                            write_char(_)
    void         writeInt(int)                              write_int(_)
    void         writeLong(long)                            write_long(_)
    void         writeFloat(float)                          write_float(_)
    void         writeDouble(double)                        write_double(_)
    void         writeUTF(String)                           write_utf(_)
    void         writeBytes(byte[])                         write_bytes(_)
    void         writeBytes(byte[], int, int)               write_bytes(_, _, _)
    void         writeObject(Object)                        write_object(_)
    void         reset()                                    reset()
"""

_MAP = """
    boolean      getBoolean(String)                         get_boolean(_)
    byte         getByte(String)                            get_byte(_)
    short        getShort(String)                           get_short(_)
    char         getChar(String)                            get_char(_)
    int          getInt(String)                             get_int(_)
    long         getLong(String)                            get_long(_)
    float        getFloat(String)                           get_float(_)
    double       getDouble(String)                          get_double(_)
    String       getString(String)                          get_string(_)
    byte[]       getBytes(String)                           get_bytes(_)
    Object       getObject(String)                          get_object(_)
    Names        getMapNames()                              map_names
    void         setBoolean(String, boolean)                set_boolean(_, _)
    void         setByte(String, byte)                      set_byte(_, _)
    void         setShort(String, short)                    set_short(_, _)
    void         setChar(String, char)                      set_char(_, _)
    void         setInt(String, int)                        set_int(_, _)
    void         setLong(String, long)                      set_long(_, _)
    void         setFloat(String, float)                    set_float(_, _)
    void         setDouble(String, double)                  set_double(_, _)
    void         setString(String, String)                  set_string(_, _)
    void         setBytes(String, byte[])                   set_bytes(_, _)
    void         setBytes(String, byte[], int, int)         set_bytes(_, _, _, _)
    void         setObject(String, Object)                  set_object(_, _)
    boolean      itemExists(String)                         item_exists(_)
"""

_STREAM = """
    boolean      readBoolean()                              read_boolean()
    byte         readByte()                                 read_byte()
    short        readShort()                                read_short()
    char         readChar()                                 read_char()
    int          readInt()                                  read_int()
    long         readLong()                                 read_long()
    float        readFloat()                                read_float()
    double       readDouble()                               read_double()
    String       readString()                               read_string()
    int          readBytes(buffer)                          !read_bytes
    Object       readObject()                               read_object()
    void         writeBoolean(boolean)                      write_boolean(_)
    void         writeByte(byte)                            write_byte(_)
    void         writeShort(short)                          write_short(_)
    void         writeChar(char)                            write_char(_)
    void         writeInt(int)                              write_int(_)
    void         writeLong(long)                            write_long(_)
    void         writeFloat(float)                          write_float(_)
    void         writeDouble(double)                        write_double(_)
    void         writeString(String)                        write_string(_)
    void         writeBytes(byte[])                         write_bytes(_)
    void         writeBytes(byte[], int, int)               write_bytes(_, _, _)
    void         writeObject(Object)                        write_object(_)
    void         reset()                                    reset()
"""

MESSAGES = {
    "Message": _MESSAGE,
    "TextMessage": _TEXT,
    "ObjectMessage": _OBJECT,
    "BytesMessage": _BYTES,
    "MapMessage": _MAP,
    "StreamMessage": _STREAM,
}
"""The lines of the six kinds of messages."""
