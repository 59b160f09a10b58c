/** Starlight for JMS, as it is. */
public final class Bench extends Factory implements Timed {
}
