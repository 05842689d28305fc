"""Tell in one screen what is there, what is missing, and the remedy; exit status 1 if something needed is missing.

usage: pymavg doctor
"""

from pymavg.doctor import examine
from pymavg.options import Parser


def main(argv):
    """Run the tool."""
    Parser("doctor", __doc__).parse_args(argv)
    findings = list(examine())
    for finding in findings:
        print(finding)
    missing = [finding.name for finding in findings if finding.state == "MISSING"]
    print(f"missing: {', '.join(missing)}" if missing else "all that is needed is there")
    return 1 if missing else 0
