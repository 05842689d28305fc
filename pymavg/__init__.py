"""pymavg: DNN acoustic models trained on many workers by model averaging (Su and Chen, arXiv 1507.01239)."""

__version__ = "0.1.0"
