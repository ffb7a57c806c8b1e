"""Studies: the whole pipeline on simulated and recorded data, many times, with the truth beside it."""
