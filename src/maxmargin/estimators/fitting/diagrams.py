"""An estimator in a notebook: scikit-learn's diagram, and below it the certificate of the fit."""

from __future__ import annotations

from typing import Any

from maxmargin.certificates.html import as_html


class CertifiedDiagram:
    """Adds the certificate to the diagram of a fitted estimator; comes before scikit-learn's base class."""

    def _repr_html_inner(self) -> str:
        return self._with_certificate(super()._repr_html_inner())  # type: ignore[misc]  # scikit-learn's base has it

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]  # scikit-learn's base has it
        if "text/html" in bundle:
            bundle["text/html"] = self._with_certificate(bundle["text/html"])
        return bundle

    def _with_certificate(self, diagram: str) -> str:
        """The diagram, and the certificate where there is one."""
        certificate = getattr(self, "certificate_", None)
        return diagram if certificate is None else f"{diagram}{as_html(certificate, folded=True)}"
