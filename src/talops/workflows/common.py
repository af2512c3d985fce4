"""The first step of every workflow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.pipeline.stage import Reporter
from talops.site.secrets_file import SecretsFile

if TYPE_CHECKING:
    from talops.pipeline.session import Recorder
    from talops.site.site import Site


@dataclass(frozen=True)
class Begun:
    """The cluster's secrets, opened once for all stages, and the record of the run."""

    secrets: SecretsFile
    recorder: Recorder

    def report(self, stage: str) -> Reporter:
        return Reporter(stage, self.recorder.emit)


def begin(site: Site, recorder: Recorder) -> Begun:
    """Register the credentials with the record first, so that it masks them everywhere."""
    recorder.learn(*site.credentials.values())
    return Begun(SecretsFile(site, recorder.learn), recorder)
