"""Tables, plots and the experiment page."""
