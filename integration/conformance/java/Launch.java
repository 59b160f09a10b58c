package jmsbridge;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.function.IntConsumer;

/**
 * Runs a program as the java command does: on a thread of Java's own, until its last thread has ended.
 *
 * <p>Python must not be below it: while Java ends, JPype interrupts threads, and crashes where an exception goes back to Python.
 */
public final class Launch extends Thread {
    private final Thread python = currentThread();
    private final Method program;
    private final String[] arguments;
    private final IntConsumer ended;
    private volatile boolean javaEnds;

    /** The consumer is given the program's status: 1 for an exception that it does not catch. */
    public Launch(String program, String[] arguments, IntConsumer ended) throws ReflectiveOperationException {
        super("main");
        setDaemon(false);
        this.program = Class.forName(program, false, ClassLoader.getSystemClassLoader()).getDeclaredMethod("main", String[].class);
        this.program.setAccessible(true);
        this.arguments = arguments;
        this.ended = ended;
    }

    @Override
    public void run() {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> javaEnds = true));
        int status = 0;
        try {
            program.invoke(null, (Object) arguments);
        } catch (InvocationTargetException error) {
            status = failed(error.getCause());
        } catch (Exception error) { // a main that is not static
            status = failed(error);
        }
        try {
            while (joinAnother()) {}
        } catch (InterruptedException error) {
            return; // only JPype interrupts this thread then
        }
        if (!javaEnds) ended.accept(status);
    }

    private int failed(Throwable error) {
        if (!javaEnds) error.printStackTrace();
        return 1;
    }

    private boolean joinAnother() throws InterruptedException {
        for (Thread each : getAllStackTraces().keySet()) {
            if (!each.isDaemon() && each != this && each != python) {
                each.join();
                return true;
            }
        }
        return false;
    }
}
