"""Rendering: what one component said about one candidate, as bounded text that a plan can cite.

Pure functions from a tool's result to `Evidence`. Each component's text holds its own news only: no summary, reason or
diagnostics that another component owns, no clock, no path of this machine.
"""

from cudanalyst.resources.render.analyzer import render_analyzer
from cudanalyst.resources.render.compiler import render_compiler
from cudanalyst.resources.render.debugger import render_debugger
from cudanalyst.resources.render.placebo import placebo
from cudanalyst.resources.render.profiler import render_profiler

__all__ = ["placebo", "render_analyzer", "render_compiler", "render_debugger", "render_profiler"]
