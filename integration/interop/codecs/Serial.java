import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;

/** Reads cases from a directory given by Python, prints what Java sees, and writes cases for Python to read. */
public class Serial {
    enum Colour { RED }

    static class Custom implements Serializable {
        private static final long serialVersionUID = 1L;
        int number = 7;
        List<Object> items = new ArrayList<>(List.of("a", 1));
        Custom next;
    }

    static class External implements Externalizable {
        private static final long serialVersionUID = 1L;
        public External() { }
        public void writeExternal(ObjectOutput out) throws IOException { out.writeInt(5); }
        public void readExternal(ObjectInput in) throws IOException { in.readInt(); }
    }

    static String show(Object value) {
        if (value == null) return "null";
        if (value instanceof byte[]) return "byte[]:" + HexFormat.of().formatHex((byte[]) value);
        if (value instanceof String s) {
            StringBuilder text = new StringBuilder("String:");
            if (s.length() > 200) return "String*" + s.length() + ":" + s.hashCode();
            for (char c : s.toCharArray()) text.append(String.format("%04x", (int) c));
            return text.toString();
        }
        if (value instanceof Character c) return String.format("Character:%04x", (int) c);
        if (value instanceof Float f) return String.format("Float:%08x", Float.floatToIntBits(f));
        if (value instanceof Double d) return String.format("Double:%016x", Double.doubleToLongBits(d));
        if (value instanceof ArrayList<?> list) {
            StringJoiner text = new StringJoiner(",", "ArrayList[", "]");
            for (Object item : list) text.add(show(item));
            return text.toString();
        }
        if (value instanceof HashMap<?, ?> map) {
            List<String> entries = new ArrayList<>();
            for (Map.Entry<?, ?> e : map.entrySet()) entries.add(show(e.getKey()) + "=" + show(e.getValue()));
            Collections.sort(entries);
            return value.getClass().getSimpleName() + "{" + String.join(",", entries) + "}";
        }
        return value.getClass().getSimpleName() + ":" + value;
    }

    static void write(File directory, String name, Object value) throws IOException {
        try (ObjectOutputStream out = new ObjectOutputStream(new FileOutputStream(new File(directory, name + ".out")))) {
            out.writeObject(value);
        }
    }

    static Map<String, Object> fill(Map<String, Object> map) {
        map.put("a", 1);
        map.put("b", "two");
        return map;
    }

    static void writeShared(File directory) throws IOException {
        write(directory, "null", null);
        write(directory, "true", true);
        write(directory, "byte", (byte) -5);
        write(directory, "short", (short) 300);
        write(directory, "int", 70000);
        write(directory, "small_int", 5);
        write(directory, "long", 1L << 40);
        write(directory, "float", 0.1f);
        write(directory, "double", -6.02e23);
        write(directory, "nan", Double.NaN);
        write(directory, "char", '\u20ac');
        write(directory, "text", "na\u00efve \ud83d\ude00 \u0000 \ud800");
        write(directory, "long_text", "x".repeat(70000));
        write(directory, "bytes", new byte[] {1, 2, -3});
        write(directory, "list", new ArrayList<Object>(Arrays.asList(1, "a", null, 2.5, new byte[] {9}, 1, "a", 1000, true, true)));
        Map<String, Object> one = new HashMap<>();
        one.put("a", new ArrayList<Object>(Arrays.asList(1L, 'x')));
        write(directory, "map", one);
        write(directory, "empty_map", new HashMap<String, Object>());
        write(directory, "empty_list", new ArrayList<Object>());
        ArrayList<Object> inner = new ArrayList<>(List.of(1));
        write(directory, "shared", new ArrayList<Object>(Arrays.asList(inner, inner)));
        HashMap<Object, Object> many = new HashMap<>();
        for (int i = 0; i < 13; i++) many.put(i, i);
        write(directory, "thirteen", many);
    }

    static void writeVariants(File directory) throws IOException {
        write(directory, "v_aslist", Arrays.asList(1, "a"));
        write(directory, "v_linkedlist", new LinkedList<Object>(List.of(1, "a")));
        write(directory, "v_linkedmap", fill(new LinkedHashMap<>()));
        write(directory, "v_treemap", fill(new TreeMap<>()));
        write(directory, "v_listof", List.of(1, "a"));
        write(directory, "v_listof3", List.of(1, "a", 3L));
        write(directory, "v_mapof", Map.of("a", 1));
        write(directory, "v_mapof2", Map.of("a", 1, "b", "two"));
        write(directory, "v_emptylist", Collections.emptyList());
        write(directory, "v_emptymap", Collections.emptyMap());
        write(directory, "v_singleton", Collections.singletonList("a"));
        write(directory, "v_singletonmap", Collections.singletonMap("a", 1));
        write(directory, "v_unmodifiable", Collections.unmodifiableList(new ArrayList<>(List.of(1))));
        write(directory, "v_unmodifiablelinked", Collections.unmodifiableList(new LinkedList<>(List.of(1))));
        write(directory, "v_unmodifiablemap", Collections.unmodifiableMap(fill(new HashMap<>())));
        write(directory, "v_objects", new Object[] {1, "a", new String[] {"b", null}});
        write(directory, "v_strings", new String[] {"a", "b"});
        write(directory, "v_integers", new Integer[][] {{1}, {2, null}});
        Custom custom = new Custom();
        custom.next = custom;
        write(directory, "o_custom", custom);
        write(directory, "o_external", new External());
        write(directory, "o_enum", Colour.RED);
        write(directory, "o_class", String.class);
        write(directory, "o_ints", new int[] {1, 2});
        write(directory, "o_date", new Date(0));
        write(directory, "o_nested", new ArrayList<Object>(List.of(new Custom())));
        write(directory, "o_bytekey", new HashMap<Object, Object>(Map.of(new byte[] {1}, 1)));
        HashMap<Object, Object> merged = new HashMap<>();
        merged.put(1, "int");
        merged.put(1.0, "double");
        write(directory, "o_merged", merged);
        ArrayList<Object> cycle = new ArrayList<>();
        cycle.add(cycle);
        write(directory, "o_cycle", cycle);
    }

    static void numbers(File directory, PrintStream out) throws IOException {
        for (String line : java.nio.file.Files.readAllLines(new File(directory, "numbers.txt").toPath(), StandardCharsets.UTF_8)) {
            String[] part = line.split("\t", -1);
            String text = new String(HexFormat.of().parseHex(part[1]), StandardCharsets.UTF_16BE);
            String answer;
            try {
                answer = switch (part[0]) {
                    case "double" -> String.format("%016x", Double.doubleToLongBits(Double.parseDouble(text)));
                    case "float" -> String.format("%08x", Float.floatToIntBits(Float.parseFloat(text)));
                    case "byte" -> Byte.toString(Byte.parseByte(text));
                    case "int" -> Integer.toString(Integer.parseInt(text));
                    case "long" -> Long.toString(Long.parseLong(text));
                    case "showdouble" -> Double.toString(Double.longBitsToDouble(Long.parseUnsignedLong(text, 16)));
                    case "showfloat" -> Float.toString(Float.intBitsToFloat(Integer.parseUnsignedInt(text, 16)));
                    default -> throw new IllegalStateException(part[0]);
                };
            } catch (NumberFormatException error) {
                answer = "NFE";
            }
            out.println(answer);
        }
    }

    static void texts(File directory, PrintStream out) throws IOException {
        try (DataInputStream in = new DataInputStream(new FileInputStream(new File(directory, "texts.utf")));
             DataOutputStream back = new DataOutputStream(new FileOutputStream(new File(directory, "texts.back")))) {
            while (in.available() > 0) back.writeUTF(in.readUTF());
        }
    }

    public static void main(String[] args) throws Exception {
        File directory = new File(args[0]);
        try (PrintStream out = new PrintStream(new File(directory, "numbers.answer"), StandardCharsets.UTF_8)) {
            numbers(directory, out);
        }
        texts(directory, System.out);
        try (PrintStream out = new PrintStream(new File(directory, "seen.txt"), StandardCharsets.UTF_8)) {
            File[] files = directory.listFiles((d, name) -> name.endsWith(".in"));
            Arrays.sort(files);
            for (File file : files) {
                try (ObjectInputStream in = new ObjectInputStream(new FileInputStream(file))) {
                    out.println(file.getName().replace(".in", "") + " " + show(in.readObject()));
                }
            }
        }
        writeShared(directory);
        writeVariants(directory);
    }
}
