"""The program on a node: samples its devices and hands reports on."""
