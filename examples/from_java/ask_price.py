import jmsbridge

with jmsbridge.connect() as connection:
    session = connection.create_session(session_mode=jmsbridge.AUTO_ACKNOWLEDGE)
    replies = session.create_temporary_queue()
    consumer = session.create_consumer(replies)
    connection.start()
    question = session.create_text_message("ink")
    question.jms_reply_to = replies
    session.create_producer(session.create_queue("prices")).send(question)
    reply = consumer.receive(timeout=30)
    if reply is None or reply.jms_correlation_id != question.jms_message_id:
        raise SystemExit("no reply")
    print(f"ink: {reply.get_double_property('price')}")
