"""The program on a node: samples its probes and hands the reports on."""
