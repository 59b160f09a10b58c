import jmsbridge

with jmsbridge.connect() as connection:
    session = connection.create_session(session_mode=jmsbridge.SESSION_TRANSACTED)
    consumer = session.create_consumer(session.create_queue("prices"))
    producer = session.create_producer(None)
    connection.start()
    while (question := consumer.receive()) is not None:
        reply = session.create_message()
        reply.set_double_property("price", 1.5 * len(question.get_body(str) or ""))
        reply.jms_correlation_id = question.jms_message_id
        if question.jms_reply_to is not None:
            producer.send(question.jms_reply_to, reply)
        session.commit()
