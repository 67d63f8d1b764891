# SPDX-License-Identifier: MIT OR Apache-2.0
"""The programs of bench/run, and how it runs them, for the other benchmarks."""
import importlib.machinery
import importlib.util
import os


def load_bench_run(work):
    """bench/run as a module whose programs work in the folder."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "run")
    loader = importlib.machinery.SourceFileLoader("bench_run", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_run", loader))
    loader.exec_module(module)
    module.WORK = work
    module.BIN = os.path.join(module.BUILD, "bin")
    module.SHIM = os.path.join(module.BUILD, "lib", "libheapsonde-trace.so")
    module.HEAPSONDE = os.path.join(module.BIN, "heapsonde")
    return module
