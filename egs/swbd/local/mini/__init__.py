"""The parts of make_mini_corpus.py; README.md beside it holds the rules and the figures."""
