import jmsbridge

with jmsbridge.connect() as connection:
    session = connection.create_session(session_mode=jmsbridge.SESSION_TRANSACTED)
    consumer = session.create_consumer(session.create_queue("unchecked"))
    producer = session.create_producer(None)
    connection.start()
    while (message := consumer.receive()) is not None:
        if message.get_body(str):
            producer.send(session.create_queue("orders"), message)
            session.commit()
        elif message.get_int_property("JMSXDeliveryCount") < 3:
            session.rollback()  # it comes again
        else:
            producer.send(session.create_queue("rejected"), message)
            session.commit()
