"""Certificates: how far an answer is from optimal, rebuilt from the data in double precision."""

from maxmargin.certificates.assessment import Assessment, assess
from maxmargin.certificates.certificate import Certificate, certify, combine
from maxmargin.certificates.claim import Claim, Point

__all__ = ["Assessment", "Certificate", "Claim", "Point", "assess", "certify", "combine"]
