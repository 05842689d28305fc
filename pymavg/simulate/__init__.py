"""How long training takes on more workers than are at hand: the scaling model and the paper's measurements."""
