"""What a run is told of the checkpoint that it goes on from, or that says that it is over."""

from __future__ import annotations

import datetime
import os

from eddy.running.checkpoints import Checkpoints, Manifest
from eddy.running.outcome import Outcome, Resumed


def resumed_from(checkpoints: Checkpoints, manifest: Manifest) -> Resumed:
    """The checkpoint of a manifest."""
    written = os.path.getmtime(checkpoints.manifest_file(manifest.number))
    taken, now = datetime.datetime.fromtimestamp(written), datetime.datetime.now()
    text = taken.strftime("%H:%M:%S" if taken.date() == now.date() else "%Y-%m-%d %H:%M:%S")
    return Resumed(checkpoints.folder, text, manifest.counts["results"])


def finished(manifest: Manifest, resumed: Resumed) -> Outcome:
    """Of a run that was over already."""
    counts = manifest.counts
    return Outcome(
        results=counts["results"],
        rows={name: position["rows"] for name, position in manifest.positions.items()},
        bad=counts["bad"],
        late=counts["late"],
        letters=(),
        lateness=counts["lateness"],
        plan="",
        changes=0,
        checkpoints=manifest.number,
        seconds=0.0,
        ended="over",
        counts=counts.get("queries", {}),
        resumed=resumed,
    )
