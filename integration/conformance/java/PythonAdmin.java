import javax.naming.Context;
import javax.naming.NamingException;
import org.objectweb.jtests.jms.admin.Admin;

/** Joram makes its administrator by name, so there must be a class; Python gives it the one that does the work. */
public class PythonAdmin implements Admin {
    public static Admin delegate;

    public String getName() { return delegate.getName(); }
    public Context createContext() throws NamingException { return delegate.createContext(); }
    public void createConnectionFactory(String name) { delegate.createConnectionFactory(name); }
    public void createQueueConnectionFactory(String name) { delegate.createQueueConnectionFactory(name); }
    public void createTopicConnectionFactory(String name) { delegate.createTopicConnectionFactory(name); }
    public void createQueue(String name) { delegate.createQueue(name); }
    public void createTopic(String name) { delegate.createTopic(name); }
    public void deleteQueue(String name) { delegate.deleteQueue(name); }
    public void deleteTopic(String name) { delegate.deleteTopic(name); }
    public void deleteConnectionFactory(String name) { delegate.deleteConnectionFactory(name); }
    public void deleteQueueConnectionFactory(String name) { delegate.deleteQueueConnectionFactory(name); }
    public void deleteTopicConnectionFactory(String name) { delegate.deleteTopicConnectionFactory(name); }
    public void startServer() throws Exception { delegate.startServer(); }
    public void stopServer() throws Exception { delegate.stopServer(); }
    public void start() throws Exception { delegate.start(); }
    public void stop() throws Exception { delegate.stop(); }
}
