"""Job runners behind utils/run.pl, slurm.pl and queue.pl; only the standard library, so that they start at once."""
