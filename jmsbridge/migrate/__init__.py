"""The way out of Java: reads the sources of a Java project, and says what they are here.

``project`` finds and parses the files with tree-sitter's grammar of Java; ``index`` has the classes of the project,
``calls`` the types of expressions and the calls of the API's methods, ``beans`` the annotations of Spring and
Jakarta. ``features`` says which features of a broker they need, ``report`` what a backend does about them, and
``skeletons`` writes Python. Nothing of the project is executed.
"""

from jmsbridge.migrate.project import Finding, Problem, Project, read_project
from jmsbridge.migrate.report import document

__all__ = ["Finding", "Problem", "Project", "document", "read_project"]
