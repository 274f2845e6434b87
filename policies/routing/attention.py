"""When to glance at a feed, and when to look: where nothing happens, both become rare."""

from __future__ import annotations

from attrs import define, field

from policies.optimizer.model import CostModel
from policies.routing.profile import Profile
from policies.view import Glance

FIRST = 8192
"""Events after which it looks for the first time."""
CALM = 8
"""Times as many events it lets go by without a look while nothing changes."""
SUDDEN = 0.5
"""A change by this share is no chance."""
SHAKEN = 3.0
"""Times by which matches have to differ more than they do anyway from one glance to the next."""
DOUBT = 4.0
"""Times as much has to move, at the most, after thoughts that changed nothing."""
SLACK = 0.02
"""A share of the time by which matches may differ from glance to glance at the least."""


@define(eq=False)
class Attention:
    """Glances every ``every`` events, and up to eight times as rarely after glances that showed nothing.

    A glance is taken very often and by code that is not in the caches, so it is one short piece of arithmetic.
    """

    every: int
    drift: float
    model: CostModel
    period: int = field(init=False)
    """Events until it glances again."""
    work: tuple[float, float] | None = field(init=False, default=None)
    """Matches until then, so many and so many for each event: with more it glances at once."""
    rate: float = field(init=False, default=0.0)
    """Seconds an event at the last look."""
    worked: float = field(init=False, default=0.0)
    """Seconds of work since the last look, about."""
    beyond: float = field(init=False, default=0.0)
    """Of these, what it took beyond what it took at the last decision."""
    latest: float = field(init=False, default=0.0)
    """Seconds of work after which it looks, whatever a glance shows."""
    earliest: float = field(init=False, default=0.0)
    """And before which it does not."""
    doubt: float = field(init=False, default=1.0)
    """Times ``drift`` by which something has to move."""
    measuring: bool = field(init=False, default=False)
    """The clock is to tell what a change has brought: that takes glances that are not far apart."""
    moved: bool = field(init=False, default=False)
    """The last look found the feed a little different."""
    calm: int = field(init=False, default=1)
    """Glances between two looks while nothing changes."""
    _uneventful: int = field(init=False, default=0)
    """Glances in a row that showed nothing."""
    _jitter: float = field(init=False, default=0.0)
    _last: float = field(init=False, default=0.0)
    """Matches per event at the last glance, and by how much they differ from glance to glance."""

    @period.default
    def _soon(self) -> int:
        return min(self.every, FIRST)

    @property
    def jitter(self) -> float:
        """By how much matches per event may differ without being news."""
        return SHAKEN * self._jitter

    def caught(self, glance: Glance, known: Profile, until: int | None, stirring: bool) -> bool:
        """Whether a glance shows that it is time to look.

        ``until``: events until there is something to be thought about, if there is. Of a feed that is ``stirring`` it
        is known that it has become another: only worse would be news.
        """
        events, now = glance.events, glance.matches / glance.events
        shaken, most = SHAKEN * self._jitter, 2 * self._jitter + SLACK * known.seconds / known.each
        # One that is far off counts as less: it may be a new time, not chance.
        self._jitter += (min(abs(now - self._last), most) - self._jitter) / 4
        self._last = now
        # Most matches that come so suddenly are results, which nobody stores.
        more = max(0.0, now - known.all_matches) * events * (known.each - self.model.insert)
        worked = self.worked + self.rate * events
        if worked >= self.latest:
            return True
        if worked >= self.earliest:
            due = until is not None and until <= 0
            if due or ((more or not stirring) and known.differs(glance, self.drift, shaken)):
                return True
        self.worked = worked
        self.beyond += more
        self._uneventful += 1
        self.pace(until, stirring)
        return False

    def think(self, portion: float) -> None:
        """It is thinking: a portion is due when batches have taken as long as one does."""
        self.work, self.period = None, min(self.every, max(1, int(portion / max(self.rate, 1e-12))))

    def pace(self, until: int | None, stirring: bool) -> None:
        """When to glance again: sooner where a thought is due, but not before it can be paid for; later where nothing
        has happened for long. A plan that begins to make many more matches is seen at once in any case."""
        most = self.every << min(max(self._uneventful.bit_length() - 2, 0), 3)
        soon = most if until is None else until
        if stirring or self.measuring:  # it may become urgent at any time
            soon = min(soon, FIRST // 2)
        if soon <= 0:
            soon = int(min((self.earliest - self.worked) / max(self.rate, 1e-12), float(most)))
        self.period = min(most, max(soon, FIRST // 4))

    def look(self, known: Profile, price: float) -> None:
        """It has looked, and expects this from now on: matches that take a quarter of a ``price`` more are news."""
        self.work = price / 4 / known.each, known.all_matches

    def drifted(self, share: float) -> bool:
        """Whether the feed has changed: by much, or twice in a row by a little. In calm it looks ever more rarely."""
        if share <= self.doubt * self.drift:
            self.moved = False
            if self.calm == CALM:
                self.doubt = max(1.0, self.doubt / 2)
            self.calm = min(2 * self.calm, CALM)
            return False
        before, self.moved = self.moved, True
        self.calm, self._uneventful = 1, 0
        return before or share > SUDDEN

    def fruitless(self) -> None:
        """A thought has changed nothing: it takes more to rouse it again."""
        self.doubt = min(2 * self.doubt, DOUBT)

    def renew(self, known: Profile) -> None:
        """Another plan runs: what was usual is so no longer."""
        self._jitter, self._last, self._uneventful = 0.0, known.all_matches, 0
