"""Where to connect and how: URLs, profiles, typed options, secrets.

``resolve`` is the entry point: it turns the target and options of a call into a ``Target``.
"""

from jmsbridge.config.kinds import to_seconds
from jmsbridge.config.masking import MASK, mask_url
from jmsbridge.config.options import Options
from jmsbridge.config.policies import policy_for
from jmsbridge.config.profiles import config_files, profile_names
from jmsbridge.config.redelivery import RedeliveryPolicy
from jmsbridge.config.resolve import DEFAULT_TARGET, Target, resolve

__all__ = [
    "DEFAULT_TARGET",
    "MASK",
    "Options",
    "RedeliveryPolicy",
    "Target",
    "config_files",
    "mask_url",
    "policy_for",
    "profile_names",
    "resolve",
    "to_seconds",
]
