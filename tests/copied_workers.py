"""Tests on several cores by copies of one process: `pytest --copies 3`, where processes can be copied.

To import libraries, to rewrite what is asserted and to list thousands of tests takes half a minute, and workers of pytest-xdist do so each. These are copies (forks) of the
process that has done it. Each asks for one test after another and sends its reports. A copy that dies fails the test it ran, and another takes its place.
"""
import contextlib
import multiprocessing
import os
import sys
import warnings
from multiprocessing.connection import wait
from types import SimpleNamespace

import notebooks
import pytest
from _pytest.reports import TestReport

PREPARED = pytest.StashKey[str]()  # the address of the process that is copied for pages, one for all workers


def possible():
    return sys.platform.startswith("linux")


def run(session, copies):
    "Run all tests of a session in so many copies of this process."
    waiting, alive = list(range(len(session.items)))[::-1], {}
    folders = session.config._tmp_path_factory.getbasetemp()
    with contextlib.ExitStack() as stack:
        if sum(item.name.startswith("test_notebook[") for item in session.items) > 3:
            session.config.stash[PREPARED] = stack.enter_context(notebooks.prepared_kernels())
        for number in range(copies): _start(session, alive, folders / f"copy{number}")
        try:
            while alive:
                for ours in wait(list(alive)): _answer(session, ours, alive, waiting)
                if session.shouldfail or session.shouldstop: waiting.clear()
        finally:
            for one in alive.values(): one.process.kill()
    if session.shouldfail: raise session.Failed(session.shouldfail)
    if session.shouldstop: raise session.Interrupted(session.shouldstop)


def _start(session, alive, folder):
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(session, theirs, [ours, *alive], folder))
    process.start()
    theirs.close()
    alive[ours] = SimpleNamespace(process=process, given=[], folder=folder)


def _answer(session, ours, alive, waiting):
    "Take what a copy has sent: the wish for a test, a report, a warning, or that a test is done."
    hook, one = session.config.hook, alive[ours]
    try: kind, value = ours.recv()
    except (EOFError, ConnectionError): kind, value = "end", None
    if kind == "end": _ended(session, alive.pop(ours), alive, waiting)
    if kind == "next":
        index = None
        if waiting:
            index = waiting.pop()
            one.given.append(index)
        with contextlib.suppress(ConnectionError): ours.send(index)
    if kind == "done": one.given.remove(value)
    if kind == "report": _tell(session, hook.pytest_report_from_serializable(config=session.config, data=value), one.folder.name)
    if kind == "warning": hook.pytest_warning_recorded.call_historic(kwargs={**value, "warning_message": warnings.WarningMessage(*value["warning_message"])})


def _tell(session, report, copy):
    report.node = SimpleNamespace(gateway=SimpleNamespace(id=copy))  # as of pytest-xdist: a letter a test on the screen
    session.config.hook.pytest_runtest_logreport(report=report)
    del report.node


def _ended(session, one, alive, waiting):
    "A copy has ended: if it was at a test, that test fails, and another copy goes on."
    one.process.join()
    if not one.given: return
    item = session.items[one.given[0]]
    said = f"the process that ran {item.nodeid} ended with {one.process.exitcode}"
    _tell(session, TestReport(item.nodeid, item.location, {}, "failed", said, "call"), one.folder.name)
    waiting += one.given[1:]
    _start(session, alive, one.folder.with_name(one.folder.name + "a"))


class _Sender:
    "What a copy knows is sent, and not shown."
    def __init__(self, config, connection): self.config, self.connection = config, connection

    def pytest_runtest_logreport(self, report):
        self.connection.send(("report", self.config.hook.pytest_report_to_serializable(config=self.config, report=report)))

    def pytest_warning_recorded(self, warning_message, when, nodeid, location):
        seen = warning_message
        self.connection.send(("warning", {"warning_message": (str(seen.message), seen.category, seen.filename, seen.lineno), "when": when, "nodeid": nodeid, "location": location}))


def _work(session, connection, others, folder):
    "Be a copy: run the tests that are given, with screen, output and folders of its own."
    for other in others: other.close()
    config, plugins = session.config, session.config.pluginmanager
    captured = plugins.getplugin("capturemanager")
    captured.stop_global_capturing()
    captured.start_global_capturing()
    folder.mkdir()
    config._tmp_path_factory._basetemp = folder
    plugins.unregister(name="terminalreporter")
    plugins.register(_Sender(config, connection))

    def ask():
        connection.send(("next", None))
        return connection.recv()
    index = ask()
    while index is not None:
        following = ask()
        item, nextitem = session.items[index], None
        if following is not None: nextitem = session.items[following]
        config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)
        connection.send(("done", index))
        index = following
    captured.stop_global_capturing()
    connection.close()
    os._exit(0)
