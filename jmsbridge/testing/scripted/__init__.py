"""A backend without a broker, for tests of the facade: the script holds answers back, reorders, fails and cuts.

::

    backend = ScriptedBackend()
    with backend.installed():
        backend.hold("send")
        connection = jmsbridge.connect("scripted:")
        …                                  # asynchronous sends
        backend.release("send", order=reversed)
        backend.links[-1].cut()

``ScriptedBackend(auto=True)`` answers everything at once and makes arrivals out of credit: what remains to be measured
is the facade.
"""

from jmsbridge.testing.scripted.auto import AutoChannel, AutoLink, AutoSubscription
from jmsbridge.testing.scripted.backend import ScriptedBackend, ScriptedOptions
from jmsbridge.testing.scripted.link import ScriptedChannel, ScriptedLink, ScriptedSubscription
from jmsbridge.testing.scripted.script import Call, Question, Script, text_envelope

__all__ = [
    "AutoChannel",
    "AutoLink",
    "AutoSubscription",
    "Call",
    "Question",
    "Script",
    "ScriptedBackend",
    "ScriptedChannel",
    "ScriptedLink",
    "ScriptedOptions",
    "ScriptedSubscription",
    "text_envelope",
]
