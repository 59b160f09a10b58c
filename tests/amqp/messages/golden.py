"""What Qpid JMS 2.10 sent through Artemis, section by section, and the envelopes that are the same messages."""

from typing import Any

from jmsbridge.spi import BodyKind, Byte, Char, Float, Long, Short

__all__ = [
    "ANNOTATIONS",
    "ANNOTATIONS_WITH_REPLY",
    "BODIES",
    "DELAYED",
    "FULL_PROPERTIES",
    "HEADERS",
    "MINIMAL_PROPERTIES",
    "PROPERTIES",
    "TYPED",
]

HEADERS: dict[tuple[bool, int, int], str] = {
    (True, 7, 600000): "005370c0090341500770000927c0",
    (False, 7, 600000): "005370c0090342500770000927c0",
    (True, 4, 0): "005370c0020141",
    (False, 4, 0): "",
}
"""By delivery mode, priority and time to live."""

ANNOTATIONS_WITH_REPLY = (
    "005372c13f06a312782d6f70742d6a6d732d7265706c792d746f5100a30e782d6f70742d6a6d732d646573745100"
    "a312782d6f70742d6a6d732d6d73672d7479706551"
)
"""A queue as reply-to destination; the kind of the message follows."""
ANNOTATIONS = "005372c12904a30e782d6f70742d6a6d732d646573745100a312782d6f70742d6a6d732d6d73672d7479706551"
"""No reply-to destination; the kind of the message follows."""
DELAYED = (
    "005372c15d08a312782d6f70742d6a6d732d7265706c792d746f5103a313782d6f70742d64656c69766572792d74696d6581000001a1fd23f2fc"
    "a30e782d6f70742d6a6d732d646573745100a312782d6f70742d6a6d732d6d73672d747970655105"
)
"""A text with a temporary topic as reply-to destination and a delivery time."""

FULL_PROPERTIES = (
    "005373d0000000830000000ca12f49443a33646237313439632d333465372d343133322d396338322d3233643863376432356130623a313a31"
    "3a312d3240a10970612e6d782e617274a106747970652d31a111706565722e6d61747269782e7265706c79a106636f72722d3140408300000"
    "1a1fd22e01183000001a1fd19b851a10767726f75702d315203"
)
"""Id, destination, type, reply-to, correlation id, expiration, creation, group and its sequence."""
MINIMAL_PROPERTIES = (
    "005373d0000000510000000aa12f49443a36643966653733392d663932662d346535622d393766612d6565383638643361666631363a313a37"
    "3a372d3440a10a70612e74656d70616e6e40404040404083000001a1fd23eb27"
)

PROPERTIES = (
    "005374c1df1aa109705f626f6f6c65616e41a107705f656d707479a100a106705f6c6f6e67818000000000000000a108705f737472696e67"
    "a11e68c3a96c6c6f20e4b896e7958c20f09f988020227122205c200a09746162a10b705f666c6f61745f6d6178727f7fffffa107705f666c6f"
    "617472bfc00000a108705f646f75626c6582400921fb54442d18a106705f627974655180a10c705f646f75626c655f6d696e82000000000000"
    "0001a107705f73686f7274618000a10c705f6c6f6e675f736d616c6c5505a105705f696e747180000000a10c6d61747269785f696e64657854"
    "01"
)
TYPED: dict[str, Any] = {
    "p_boolean": True,
    "p_empty": "",
    "p_long": Long(-(1 << 63)),
    "p_string": 'héllo 世界 😀 "q" \\ \n\ttab',
    "p_float_max": Float(3.4028234663852886e38),
    "p_float": Float(-1.5),
    "p_double": 3.141592653589793,
    "p_byte": Byte(-128),
    "p_double_min": 5e-324,
    "p_short": Short(-32768),
    "p_long_small": Long(5),
    "p_int": -(1 << 31),
    "matrix_index": 1,
}

_FIELDS: dict[str, Any] = {
    "boolean": True,
    "byte": Byte(-128),
    "short": Short(-32768),
    "char": Char("世"),
    "int": -(1 << 31),
    "long": Long(-(1 << 63)),
    "float": Float(-1.5),
    "double": 3.141592653589793,
    "string": TYPED["p_string"],
    "null": None,
    "bytes": b"\0\1\x7f\x80\xff",
}
BODIES: dict[BodyKind, tuple[Any, str]] = {
    BodyKind.NONE: (None, ""),
    BodyKind.TEXT: (
        TYPED["p_string"],
        "005377a11e68c3a96c6c6f20e4b896e7958c20f09f988020227122205c200a09746162",
    ),
    BodyKind.MAP: (
        _FIELDS,
        (
            "005377c19b16a107626f6f6c65616e41a104627974655180a10573686f7274618000a104636861727300004e16a103696e747180000000"
            "a1046c6f6e67818000000000000000a105666c6f617472bfc00000a106646f75626c6582400921fb54442d18a106737472696e67a11e68"
            "c3a96c6c6f20e4b896e7958c20f09f988020227122205c200a09746162a1046e756c6c40a1056279746573a00500017f80ff"
        ),
    ),
    BodyKind.STREAM: (
        list(_FIELDS.values()),
        (
            "005376c0500b4151806180007300004e16718000000081800000000000000072bfc0000082400921fb54442d18a11e68c3a96c6c6f20e4"
            "b896e7958c20f09f988020227122205c200a0974616240a00500017f80ff"
        ),
    ),
    BodyKind.BYTES: (
        bytes.fromhex("018080004e16800000008000000000000000bfc00000400921fb54442d18000375c3a900017f80ff"),
        "005375a028018080004e16800000008000000000000000bfc00000400921fb54442d18000375c3a900017f80ff",
    ),
    BodyKind.OBJECT: (
        bytes.fromhex("aced00057400276f626a6563742068c3a96c6c6f20e4b896e7958c20eda0bdedb88020227122205c200a09746162"),
        "005375a02eaced00057400276f626a6563742068c3a96c6c6f20e4b896e7958c20eda0bdedb88020227122205c200a09746162",
    ),
}
"""By kind: the canonical body, and its section."""
