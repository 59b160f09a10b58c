"""A backend without a broker, for tests of the facade: the test delays, reorders and fails answers, and cuts links.

::

    backend = ScriptedBackend()
    with backend.installed():
        backend.hold("send")
        connection = jmsbridge.connect("scripted:")
        …                                  # asynchronous sends
        backend.release("send", order=reversed)
        backend.links[-1].cut()

``ScriptedBackend(auto=True)`` answers everything at once and delivers a message for each credit, to measure the facade
alone.
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
