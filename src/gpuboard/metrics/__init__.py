"""Prometheus text from reports and verdicts."""
