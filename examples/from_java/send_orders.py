import jmsbridge

with jmsbridge.connect() as connection:  # the target is in $JMSBRIDGE_URL
    session = connection.create_session(session_mode=jmsbridge.AUTO_ACKNOWLEDGE)
    producer = session.create_producer(session.create_queue("orders"))
    producer.time_to_live = 60
    for number, article in enumerate(["pen", "paper"], 1):
        message = session.create_text_message(article)
        message.jms_type = "order"
        message.set_int_property("number", number)
        producer.send(message)
