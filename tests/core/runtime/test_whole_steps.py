"""The threads that run steps for the main thread: each step has one, however busy the machine is."""

import subprocess
import sys

_LATE_THREAD = """
import threading
from types import SimpleNamespace
from jmsbridge.core.runtime import interrupts
from jmsbridge.core.runtime.interrupts import Work, start_whole

threads = []

def start(function, args):
    threads.append(threading.Thread(target=function, args=args, daemon=True))
    if len(threads) != 2:
        threads[-1].start()

interrupts._thread = SimpleNamespace(start_new_thread=start)
interrupts._IDLE = 0.05
goes_on = threading.Event()
first, second, third = Work(goes_on.wait), Work(lambda: None), Work(lambda: None)
start_whole(first)
start_whole(second)
goes_on.set()
first.wait_done()
threads[0].join(0.04)  # it has time to take the second step, for which there is a thread that comes late
threads[1].start()
second.wait_done()
for thread in threads:
    thread.join()
start_whole(third)
third.wait_done()
print("done")
"""


def test_a_thread_that_starts_late_leaves_no_later_step_without_one() -> None:
    """Another thread had become free meanwhile, and could have taken its step; then both end, since nothing comes."""
    ran = subprocess.run([sys.executable, "-c", _LATE_THREAD], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.stdout, ran.stderr) == ("done\n", "")
