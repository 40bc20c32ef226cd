"""Run a command from a small process, and write its status, seconds and megabytes to the file named first.

A process starts with the peak memory of the one that started it, so that a large Python must not start what
it measures.
"""

import json
import os
import sys

report, *command = sys.argv[1:]
pid = os.fork()
if pid == 0:
    try:
        os.execvp(command[0], command)
    finally:
        os._exit(127)
_, status, used = os.wait4(pid, 0)
unit = 2**20 if sys.platform == "darwin" else 2**10
figures = {
    "status": os.waitstatus_to_exitcode(status),
    "cpu": used.ru_utime + used.ru_stime,
    "mb": used.ru_maxrss / unit,
}
with open(report, "w") as out:
    json.dump(figures, out)
