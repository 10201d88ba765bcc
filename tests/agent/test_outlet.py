from gpuboard.agent.outlet import TimedReport
from gpuboard.model.report import NodeReport


def test_a_report_that_was_old_when_it_was_made_is_older_when_it_is_sent() -> None:
    """The two ages add up."""
    assert TimedReport(NodeReport(node="n1", age_seconds=3), 100).aged(102).age_seconds == 5
