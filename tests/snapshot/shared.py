"""Snapshots that share their rows, in the place of whole ones: whatever a test saves and loads goes this way."""

from __future__ import annotations

import os

import eddy
from eddy.snapshot import incremental, segments
from eddy.snapshot.format import opened
from eddy.snapshot.incremental import Following, Incremental, Taking


class Shared:
    """`engine.save` and `Eddy.load`, by parts in one folder. Rows are copied ahead after each push."""

    def __init__(self, folder, monkeypatch, tail=100):
        self.folder, self.folders = str(folder), {}
        self.saved = self.reused = 0
        self._save, self._load = eddy.Eddy.save, eddy.Eddy.load
        monkeypatch.setattr(incremental, "TAIL", tail)
        monkeypatch.setattr(incremental, "STEP", tail)
        monkeypatch.setattr(segments, "SMALLEST", 4 * tail)
        monkeypatch.setattr(eddy.Eddy, "save", lambda engine, path, **given: self.save(engine, path, **given))
        shared = self

        def load(cls, path, query=None, **options):
            return shared.load(cls, path, query, **options)

        monkeypatch.setattr(eddy.Eddy, "load", classmethod(load))
        for name in ("push", "push_all"):
            monkeypatch.setattr(eddy.Eddy, name, self._followed(getattr(eddy.Eddy, name)))

    def _followed(self, push):
        def pushed(engine, *args, **options):
            result = push(engine, *args, **options)
            if options.get("max_rows") is None and id(engine) in self.folders:
                try:
                    self._save(engine, Following(self.of(engine)))
                except eddy.StateError:  # a plan change holds results back
                    pass
            return result

        return pushed

    def of(self, engine):
        """The snapshots of an engine."""
        if id(engine) not in self.folders:
            self.folders[id(engine)] = engine, Incremental(self.folder, lambda job: job())
        return self.folders[id(engine)][1]

    def save(self, engine, path, metadata=None):
        snapshots, taking = self.of(engine), Taking(self.of(engine))
        before = snapshots.files()
        self._save(engine, taking, metadata=metadata)
        self.saved += 1
        name = os.path.join(self.folder, f"{self.saved:09d}.eddy")
        files = snapshots.write(taking.found, os.path.basename(name))
        self.reused += len(before & files)
        with open(path, "w") as file:
            file.write(name)
        for other in os.listdir(self.folder):  # nothing but what it names is needed
            if other.endswith(".rows") and other not in files | snapshots.files():
                os.unlink(os.path.join(self.folder, other))

    def load(self, cls, path, query=None, **options):
        with open(path) as file:
            name = file.read()
        engine = self._load.__func__(cls, name, query, **options)
        with opened(name) as file:
            self.of(engine).resumed(file.header)
        return engine
