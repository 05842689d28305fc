"""From lexicon and language model to decoding and training graphs."""
