"""What every test of the repository shares."""

import signal
import threading

import pytest
from hypothesis import settings

# A deadline would be an asserted timing, and the database of examples a state between runs.
settings.register_profile("ottla", deadline=None, database=None, print_blob=True)
settings.load_profile("ottla")

# A suite that `nohup` or a shell's `&` began ignores Ctrl-C, and its children would inherit that.
if (
    threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write down what the scenarios do now")


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what could not run here: a test that is skipped in silence is a test that is lost."""
    skipped = terminalreporter.stats.get("skipped", [])
    if not skipped:
        return
    terminalreporter.section("could not run here")
    for report in sorted(skipped, key=lambda report: report.nodeid):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        terminalreporter.line(f"{report.nodeid}: {str(reason).removeprefix('Skipped: ')}")
