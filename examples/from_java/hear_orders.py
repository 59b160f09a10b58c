import signal

import jmsbridge


def on_message(message: jmsbridge.Message) -> None:
    print(f"order {message.get_int_property('number')}: {message.get_body(str)}", flush=True)


with jmsbridge.connect() as connection:
    session = connection.create_session(session_mode=jmsbridge.AUTO_ACKNOWLEDGE)
    consumer = session.create_consumer(session.create_queue("orders"), "JMSType = 'order'")
    consumer.message_listener = on_message
    connection.start()
    signal.pause()  # until a signal ends the program
