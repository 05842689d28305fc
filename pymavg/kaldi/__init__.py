"""Kaldi's file formats: tables, nnet1 networks, transition models, GMMs, trees, alignments, FSTs."""
