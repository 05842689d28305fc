"""One module for each `pymavg TOOL`: its docstring is the usage text, its `main(argv)` parses and calls the library.

The tool `compute-cmvn` is `pymavg/tools/compute_cmvn.py`; a new file here is a new command.
"""
