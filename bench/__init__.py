"""Figures against peers, in one run, as ratios; each module is run by `script/bench NAME`."""
