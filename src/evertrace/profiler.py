"""Finding out where time and memory go."""

from evertrace._src import lazy
from evertrace._src.profiler.profiler import ProfileData as ProfileData
from evertrace._src.profiler.profiler import ProfileEvent as ProfileEvent
from evertrace._src.profiler.profiler import ProfileOptions as ProfileOptions
from evertrace._src.profiler.profiler import ProfilePlane as ProfilePlane
from evertrace._src.profiler.profiler import StepTraceAnnotation as StepTraceAnnotation
from evertrace._src.profiler.profiler import TraceAnnotation as TraceAnnotation
from evertrace._src.profiler.profiler import annotate_function as annotate_function
from evertrace._src.profiler.profiler import device_memory_profile as device_memory_profile
from evertrace._src.profiler.profiler import register_subprocess as register_subprocess
from evertrace._src.profiler.profiler import (
    save_device_memory_profile as save_device_memory_profile,
)
from evertrace._src.profiler.profiler import start_server as start_server
from evertrace._src.profiler.profiler import start_trace as start_trace
from evertrace._src.profiler.profiler import stop_server as stop_server
from evertrace._src.profiler.profiler import stop_trace as stop_trace
from evertrace._src.profiler.profiler import trace as trace

lazy.refuse_others(__name__)

__all__ = [
    "ProfileData",
    "ProfileEvent",
    "ProfileOptions",
    "ProfilePlane",
    "StepTraceAnnotation",
    "TraceAnnotation",
    "annotate_function",
    "device_memory_profile",
    "register_subprocess",
    "save_device_memory_profile",
    "start_server",
    "start_trace",
    "stop_server",
    "stop_trace",
    "trace",
]
