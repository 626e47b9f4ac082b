"""The workbench: every tool's handler, a bound method that takes its call and flat arguments and gives one model."""

from cudanalyst.server.attribution import AttributionTools
from cudanalyst.server.feedback import FeedbackTools
from cudanalyst.server.information import InformationTools
from cudanalyst.server.job_tools import JobTools
from cudanalyst.server.sessions import SessionTools
from cudanalyst.server.state import StateTools
from cudanalyst.server.trials import TrialTools


class Workbench(SessionTools, FeedbackTools, StateTools, TrialTools, AttributionTools, JobTools, InformationTools):
    """All handlers, each group in its own module, over the same services."""
