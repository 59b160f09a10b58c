"""Where to connect and how: URLs, profiles, typed options, secrets.

``resolve`` is the only way in: it turns what a caller names into a ``Target``.
"""

from jmsbridge.config.masking import MASK, mask_url
from jmsbridge.config.options import Options, to_seconds
from jmsbridge.config.profiles import config_files, profile_names
from jmsbridge.config.resolve import DEFAULT_TARGET, Target, resolve

__all__ = [
    "DEFAULT_TARGET",
    "MASK",
    "Options",
    "Target",
    "config_files",
    "mask_url",
    "profile_names",
    "resolve",
    "to_seconds",
]
