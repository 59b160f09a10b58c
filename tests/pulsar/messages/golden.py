"""What Starlight for JMS 9.0.0 sent on JDK 17, and the values that are the same."""

import math
from typing import Any

from jmsbridge.spi import BodyKind, Byte, Char, Float, Long, Short

__all__ = ["ARRAY_LIST", "BODIES", "HEADERS", "MAP", "OBJECT_TEXT", "PROPERTIES", "TEXT", "TYPED", "TYPES"]

TEXT = 'héllo 世界 😀 "q" \\ \n\ttab'
_MODIFIED = "68c3a96c6c6f20e4b896e7958c20eda0bdedb88020227122205c200a09746162"
RAW = b"\0\1\x7f\x80\xff"

MAP: dict[str, Any] = {
    "boolean": True,
    "string": TEXT,
    "null": None,
    "byte": Byte(-128),
    "double": math.pi,
    "bytes": RAW,
    "char": Char("世"),
    "short": Short(-32768),
    "float": Float(-1.5),
    "int": -(1 << 31),
    "long": Long(-(1 << 63)),
}
"""In the order of Java's HashMap."""
_MAP = (
    "aced0005770d0000000b0007626f6f6c65616e737200116a6176612e6c616e672e426f6f6c65616ecd207280d59cfaee0200015a000576616c75"
    "65787001"
    f"77080006737472696e67740020{_MODIFIED}770600046e756c6c70"
    "77060004627974657372000e6a6176612e6c616e672e427974659c4e6084ee50f51c02000142000576616c7565787200106a6176612e6c616e67"
    "2e4e756d62657286ac951d0b94e08b0200007870807708"
    "0006646f75626c65737200106a6176612e6c616e672e446f75626c6580b3c24a296bfb0402000144000576616c75657871007e0004400921fb54"
    "442d1877070005"
    "6279746573757200025b42acf317f8060854e002000078700000000500017f80ff7706000463686172737200136a6176612e6c616e672e436861"
    "726163746572348b47d96b1a2678"
    "02000143000576616c756578704e167707000573686f72747372000f6a6176612e6c616e672e53686f7274684d37133460da5202000153000576"
    "616c75657871007e00048000"
    "77070005666c6f61747372000f6a6176612e6c616e672e466c6f6174daedc9a2db3cf0ec02000146000576616c75657871007e0004bfc0000077"
    "050003"
    "696e74737200116a6176612e6c616e672e496e746567657212e2a0a4f781873802000149000576616c75657871007e0004800000007706"
    "00046c6f6e677372000e6a6176612e6c616e672e4c6f6e673b8be490cc8f23df0200014a000576616c75657871007e00048000000000000000"
)
_STREAM = (
    "01010880048000094e16038000000005800000000000000006bfc0000007400921fb54442d18020020" + _MODIFIED + "0b0a00000005"
    "00017f80ff"
)
OBJECT_TEXT = f"aced00057400276f626a65637420{_MODIFIED}"
ARRAY_LIST = (
    "aced0005737200136a6176612e7574696c2e41727261794c6973747881d21d99c7619d03000149000473697a6578700000000477040000000473"
    "7200116a6176612e6c616e672e496e746567657212e2a0a4f781873802000149000576616c7565787200106a6176612e6c616e672e4e756d6265"
    "7286ac951d0b94e08b0200007870000000017372000e6a6176612e6c616e672e4c6f6e673b8be490cc8f23df0200014a000576616c7565787100"
    "7e000300000000000000027400017a737200106a6176612e6c616e672e446f75626c6580b3c24a296bfb0402000144000576616c75657871007e"
    "0003400c00000000000078"
)
BODIES: list[tuple[BodyKind, str, Any, str | None]] = [
    (BodyKind.TEXT, "text", TEXT, "68c3a96c6c6f20e4b896e7958c20f09f988020227122205c200a09746162"),
    (BodyKind.TEXT, "text", "", ""),
    (BodyKind.TEXT, "text", None, None),
    (BodyKind.BYTES, "bytes", RAW, "00017f80ff"),
    (BodyKind.BYTES, "bytes", b"", ""),
    (BodyKind.MAP, "map", {"k": "v"}, "aced000577070000000100016b74000176"),
    (BodyKind.MAP, "map", MAP, _MAP),
    (BodyKind.MAP, "map", {}, None),
    (
        BodyKind.STREAM,
        "stream",
        [
            *(True, Byte(-128), Short(-32768), Char("世"), -(1 << 31), Long(-(1 << 63)), Float(-1.5), math.pi),
            *(TEXT, None, RAW),
        ],
        _STREAM,
    ),
    (BodyKind.STREAM, "stream", [], ""),
    (BodyKind.OBJECT, "object", bytes.fromhex(OBJECT_TEXT), OBJECT_TEXT),
    (BodyKind.OBJECT, "object", bytes.fromhex(ARRAY_LIST), ARRAY_LIST),
    (BodyKind.OBJECT, "object", None, None),
    (BodyKind.NONE, "header", None, None),
]
"""Kind, value of ``JMSPulsarMessageType``, body, and its bytes; None for Pulsar's null value."""

TYPED: dict[str, Any] = {
    "p_boolean": True,
    "p_byte": Byte(-128),
    "p_short": Short(-32768),
    "p_int": -(1 << 31),
    "p_long": Long(-(1 << 63)),
    "p_long_small": Long(5),
    "p_float": Float(-1.5),
    "p_float_max": Float(3.4028234663852886e38),
    "p_double": math.pi,
    "p_double_min": 5e-324,
    "p_string": TEXT,
    "p_empty": "",
    "JMSXGroupID": "group-1",
    "JMSXGroupSeq": 3,
}
PROPERTIES = {
    "p_boolean": "true",
    "p_byte": "-128",
    "p_short": "-32768",
    "p_int": "-2147483648",
    "p_long": "-9223372036854775808",
    "p_long_small": "5",
    "p_float": "-1.5",
    "p_float_max": "3.4028235E38",
    "p_double": "3.141592653589793",
    "p_double_min": "4.9E-324",
    "p_string": TEXT,
    "p_empty": "",
    "JMSXGroupID": "group-1",
    "JMSXGroupSeq": "3",
}
TYPES = {
    "p_boolean_jsmtype": "boolean",
    "p_byte_jsmtype": "byte",
    "p_short_jsmtype": "short",
    "p_int_jsmtype": "int",
    "p_long_jsmtype": "long",
    "p_long_small_jsmtype": "long",
    "p_float_jsmtype": "float",
    "p_float_max_jsmtype": "float",
    "p_double_jsmtype": "double",
    "p_double_min_jsmtype": "double",
    "JMSXGroupSeq_jsmtype": "int",
}
HEADERS = {
    "JMSConnectionID": "dd420451-158a-438c-8676-7a8b70ec6ff5",
    "JMSCorrelationID": "Y29yci0x",
    "JMSDeliveryMode": "1",
    "JMSDeliveryTime": "1795247567119",
    "JMSExpiration": "1795248167119",
    "JMSExpiration_jsmtype": "long",
    "JMSPriority": "7",
    "JMSPulsarMessageType": "text",
    "JMSReplyTo": "persistent://public/default/peer.matrix.reply",
    "JMSType": "type-1",
}
"""The headers of a text that was sent at 1795247567119."""
