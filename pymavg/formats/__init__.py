"""Any file of a Kaldi experiment: recognised by its content, read to its end, described, and written anew."""
