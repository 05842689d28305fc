"""Model averaging over many workers: the trainer, pretraining, schedules, checkpoints, progress."""
