package shop;

import jakarta.jms.JMSContext;

public class Half {
    void good(JMSContext context) {
        context.createQueue("orders");
    }

    void bad( {
        context.
    }
}
