"""The codecs against a real JDK: one compilation and one run of ``java/Serial.java``, then many small comparisons."""

import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

from jmsbridge.codecs import javaserial, javatext, mutf8
from jmsbridge.codecs.javaserial import JavaObject
from jmsbridge.errors import NumberFormatError
from jmsbridge.values import Byte, Char, Double, Float, Int, Long, Short

INNER = [1]
MANY = {number: number for number in range(13)}
# Written by both sides, byte by byte alike.
SHARED: dict[str, Any] = {
    "null": None,
    "true": True,
    "byte": Byte(-5),
    "short": Short(300),
    "int": 70000,
    "small_int": Int(5),
    "long": 1 << 40,
    "float": Float(0.1),
    "double": -6.02e23,
    "nan": float("nan"),
    "char": Char("€"),
    "text": "naïve 😀 \0 \ud800",
    "long_text": "x" * 70000,
    "bytes": b"\x01\x02\xfd",
    "list": [1, "a", None, 2.5, b"\x09", 1, "a", 1000, True, True],
    "map": {"a": [Long(1), Char("x")]},
    "empty_map": {},
    "empty_list": [],
    "shared": [INNER, INNER],
    "thirteen": MANY,
}
# Written by Python, shown by Java.
SHOWN: dict[str, tuple[Any, str]] = {
    "byte": (Byte(-128), "Byte:-128"),
    "short": (Short(-2), "Short:-2"),
    "int": (-(1 << 31), "Integer:-2147483648"),
    "long": (Long(5), "Long:5"),
    "big": ((1 << 63) - 1, "Long:9223372036854775807"),
    "false": (False, "Boolean:false"),
    "float": (Float(1.5), "Float:3fc00000"),
    "double": (Double(1.0), "Double:3ff0000000000000"),
    "nan": (struct.unpack(">d", bytes.fromhex("fff8000000000001"))[0], "Double:7ff8000000000000"),
    "char": (Char("\ud83d"), "Character:d83d"),
    "text": ("a\0é😀\udc00", "String:0061000000e9d83dde00dc00"),
    "longtext": ("é" * 40000, "String*40000:"),
    "bytes": (bytearray(b"\xff\0"), "byte[]:ff00"),
    "nested": (
        {"list": [1, [2, {"k": None}]], 3: b"x"},
        "HashMap{Integer:3=byte[]:78,String:006c006900730074=ArrayList[Integer:1,ArrayList[Integer:2,HashMap{",
    ),
    "repeated": ([INNER, INNER, "s", "s", 7, 7], "ArrayList[ArrayList[Integer:1],ArrayList[Integer:1],"),
    "many": (list(range(500)), "ArrayList[Integer:0,"),
    "tuple": (("a",), "ArrayList[String:0061]"),
}
# Written by Java only, read by Python.
VARIANTS: dict[str, Any] = {
    "aslist": [1, "a"],
    "linkedlist": [1, "a"],
    "linkedmap": {"a": 1, "b": "two"},
    "treemap": {"a": 1, "b": "two"},
    "listof": [1, "a"],
    "listof3": [1, "a", Long(3)],
    "mapof": {"a": 1},
    "mapof2": {"a": 1, "b": "two"},
    "emptylist": [],
    "emptymap": {},
    "singleton": ["a"],
    "singletonmap": {"a": 1},
    "unmodifiable": [1],
    "unmodifiablelinked": [1],
    "unmodifiablemap": {"a": 1, "b": "two"},
    "objects": [1, "a", ["b", None]],
    "strings": ["a", "b"],
    "integers": [[1], [2, None]],
}
OPAQUE = {
    "custom": "Serial$Custom",
    "external": "Serial$External",
    "enum": "Serial$Colour",
    "class": "java.lang.Class",
    "ints": "[I",
    "date": "java.util.Date",
    "nested": "java.util.ArrayList",
    "bytekey": "java.util.HashMap",
    "merged": "java.util.HashMap",
    "cycle": "java.util.ArrayList",
}
NUMBERS = {
    "double": [
        "1", " 1.5\t", "1f", "1D", ".5", "5.", "NaN", "-Infinity", "+NaN", "0x1p3", "-0X.8P1f",
        "0x1.p-1074", "1e400", "1e-400", "0x1p5000", "0x1p-5000", "-0", "4.9E-324", "1_0", "", " ",
        "0x1", "nan", "inf", "infinity", "1e", "e1", ".", "1 2", "١", "\u00a01", "1l", "0x.p1",
        "0x1p99999999999999999999", "--1", "0xap1d", "2.2250738585072012e-308", "1e23", "1.d",
        "+.5e+1F",
    ],
    "float": [
        "0.1", "1e39", "3.4028235677973366e38", "3.4028235677973365e38", "1.4e-45", "0.7e-45",
        "0.70064923216240854e-45", "1.00000017881393432617187499", "1.00000017881393432617187500",
        "1.00000017881393432617187501",
        "-1.00000017881393421514957253748434595763683319091796875001", "0x1.000002fffffffffp0",
        "0x1.000003p0", "0x1.00000300000000001p0", "0x1p-150", "0x1.00000000000000001p-150",
        "-0x1p-150", "16777217", "1e-46", "NaN", "x",
    ],
    "int": [
        "+5", "-5", "2147483647", "2147483648", "-2147483648", "-2147483649", "１２", "٣", "+", "-",
        "", " 1", "1_0", "0x1", "𝟏", "007", "1.0", "²", "+-1",
    ],
    "byte": [
        "127", "128", "-128", "-129", "+0",
    ],
    "long": [
        "9223372036854775807", "9223372036854775808", "-9223372036854775808", "1L",
    ],
}  # fmt: skip
NUMBERS["int"] += ["0" * 30 + "7", "9" * 30]
# Java 17 still prints a digit too many for some other values (JDK-4511638, mended in 19).
DOUBLES = [
    1.0,
    -0.0,
    0.001,
    9.999e-4,
    1e7,
    9999999.0,
    123456.789,
    6.02e23,
    1e-5,
    4.9e-324,
    1.7976931348623157e308,
    0.1,
    100.0,
]
FLOATS = [1.0, 0.1, 1.4e-45, 3.4028235e38, 1e10, 16777216.0, 0.001, 1e7, 0.33333334, -2.5]
TEXTS = ["", "abc", "\0", "é€", "😀", "\ud800", "\udc00\ud800", "\x7f\x80\u07ff\u0800\uffff"]


def units(text: str) -> str:
    return text.encode("utf-16-be", "surrogatepass").hex()


def number_lines() -> list[tuple[str, str]]:
    lines = [(kind, text) for kind, texts in NUMBERS.items() for text in texts]
    lines += [("showdouble", struct.pack(">d", value).hex()) for value in DOUBLES]
    return lines + [("showfloat", struct.pack(">f", value).hex()) for value in FLOATS]


@pytest.fixture(scope="session")
def exchange(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which Java has answered everything that the cases below ask."""
    javac, java = shutil.which("javac"), shutil.which("java")
    if javac is None or java is None:
        pytest.skip("no JDK: javac and java are not on the PATH")
    directory = tmp_path_factory.mktemp("java")
    for name, (value, _) in SHOWN.items():
        (directory / f"{name}.in").write_bytes(javaserial.dumps(value))
    (directory / "numbers.txt").write_text("".join(f"{kind}\t{units(text)}\n" for kind, text in number_lines()))
    (directory / "texts.utf").write_bytes(b"".join(map(mutf8.write_utf, TEXTS)))
    source = Path(__file__).with_name("Serial.java")
    subprocess.run([javac, "-encoding", "UTF-8", "-d", directory, source], check=True, timeout=50)
    subprocess.run(
        [java, "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", directory, "Serial", directory], check=True, timeout=50
    )
    return directory


@pytest.mark.parametrize("name", SHOWN)
def test_java_reads_what_python_wrote(exchange: Path, name: str) -> None:
    seen = dict(line.split(" ", 1) for line in (exchange / "seen.txt").read_text().splitlines())
    assert seen[name].startswith(SHOWN[name][1])


@pytest.mark.parametrize("name", SHARED)
def test_python_writes_the_bytes_that_java_writes(exchange: Path, name: str) -> None:
    assert javaserial.dumps(SHARED[name]) == (exchange / f"{name}.out").read_bytes()


@pytest.mark.parametrize("name", sorted(SHARED.keys() - {"nan"}))
def test_python_reads_what_java_wrote(exchange: Path, name: str) -> None:
    read = javaserial.loads((exchange / f"{name}.out").read_bytes())
    assert read == SHARED[name]
    assert type(read) is (int if name == "small_int" else Long if name == "long" else type(SHARED[name]))


@pytest.mark.parametrize("name", VARIANTS)
def test_python_reads_the_collections_that_java_senders_use(exchange: Path, name: str) -> None:
    assert javaserial.loads((exchange / f"v_{name}.out").read_bytes()) == VARIANTS[name]


@pytest.mark.parametrize("name", OPAQUE)
def test_everything_else_stays_opaque_and_whole(exchange: Path, name: str) -> None:
    data = (exchange / f"o_{name}.out").read_bytes()
    read = javaserial.loads(data)
    assert isinstance(read, JavaObject)
    assert (read.class_name, read.data, javaserial.dumps(read)) == (OPAQUE[name], data, data)


def ours(kind: str, text: str) -> str:
    try:
        match kind:
            case "double":
                return struct.pack(">d", javatext.parse_double(text)).hex().replace("fff8", "7ff8")
            case "float":
                return struct.pack(">f", javatext.parse_float(text)).hex()
            case "showdouble":
                return javatext.double_text(struct.unpack(">d", bytes.fromhex(text))[0])
            case "showfloat":
                return javatext.float_text(struct.unpack(">f", bytes.fromhex(text))[0])
            case _:
                return str(javatext.parse_integer(text, {"byte": 8, "int": 32, "long": 64}[kind]))
    except NumberFormatError:
        return "NFE"


def test_number_text_agrees_with_java(exchange: Path) -> None:
    answers = (exchange / "numbers.answer").read_text("utf-8").splitlines()
    asked = number_lines()
    assert len(answers) == len(asked)
    assert [(*line, ours(*line)) for line in asked] == [
        (*line, answer) for line, answer in zip(asked, answers, strict=True)
    ]


def test_modified_utf8_agrees_with_java(exchange: Path) -> None:
    assert (exchange / "texts.back").read_bytes() == (exchange / "texts.utf").read_bytes()
