"""One combination of rows: what became of it, and how that is said."""

from __future__ import annotations

from attrs import define, field

from eddy.inspect.evidence import Evidence, Judgement
from eddy.inspect.explanation import FILTERED, FORGOTTEN, PREDICATE, RESULT, WINDOW, Explanation
from eddy.inspect.history import History
from eddy.inspect.lifetime import Lifetimes, Span
from eddy.query.query import Query
from eddy.query.windows import uses_time
from eddy.values.instants import format_instant


@define(eq=False)
class Trial:
    """One combination of rows that have all arrived."""

    query: Query
    history: History
    rows: dict[str, int]
    evidence: Evidence
    lives: Lifetimes
    arrivals: dict[str, Span] = field(init=False)
    deaths: dict[str, Span | None] = field(init=False)
    moment: Span = field(init=False)
    """When the last of the rows arrived."""

    def __attrs_post_init__(self) -> None:
        numbered = [(i, name, self.rows[name]) for i, name in enumerate(self.query.names)]
        self.arrivals = {name: self.lives.arrival(i, row) for i, name, row in numbered}
        self.deaths = {name: self.lives.death(i, row) for i, name, row in numbered}
        # Events before the history come before those in it, so the greatest span is the latest.
        self.moment = max(self.arrivals.values())

    def explanation(self) -> Explanation:
        """The first reason that applies."""
        kept = {name: self._kept(name) for name in self.rows}
        rejected = tuple(name for name in self.rows if kept[name] is False)
        if rejected:
            return self._filtered(rejected)
        moment = self.moment
        dead = tuple(name for name, death in self.deaths.items() if death and death.last <= moment.first)
        if dead:
            return self._says(WINDOW, " ".join(map(self._expiry, dead)), dead)
        # The others died later, unless both are too long ago to tell.
        doubtful = tuple(name for name, death in self.deaths.items() if death and death.first <= moment.last)
        judged = list(self.evidence.judgements())
        failed = [judgement for judgement in judged if judgement.holds is False]
        if failed:
            text = "" if doubtful else f"{self._all} were in their windows together{self._when}, but "
            text += "; ".join(judgement.how for judgement in failed) + "."
            return self._says(PREDICATE, text, predicates=tuple(judgement.predicate for judgement in failed))
        unknown = [judgement for judgement in judged if judgement.holds is None]
        keys = {
            str(key_class) for key_class in self.query.key_classes
        }  # whose equalities are unknown already
        for name in self.rows:
            if kept[name] is None:
                filters = (o for o in self.evidence.objections(name) if o.predicate not in keys)
                unknown += [objection for objection in filters if objection.holds is None]
        if unknown or doubtful:
            return self._forgotten(unknown, doubtful)
        under = f", under plan {self._plan}." if self._plan else "."
        return self._says(RESULT, f"{self._all} gave a result{self._when}{under}")

    def _says(
        self, verdict: str, text: str, streams: tuple[str, ...] = (), predicates: tuple[str, ...] = ()
    ) -> Explanation:
        event = self.moment.first if self.moment.exact else None
        expired = {}
        if verdict in (WINDOW, FORGOTTEN):
            expired = {name: death.first for name in streams if (death := self.deaths[name]) and death.exact}
        return Explanation(verdict, text, self.rows, event, self._plan, streams, expired, predicates)

    def _kept(self, name: str) -> bool | None:
        event = self.arrivals[name]
        if not event.exact:
            return self.evidence.kept(name)
        return self.history.kept(self.query.names.index(name), self.rows[name], event.first)

    # -- in words --------------------------------------------------------------------------------------------

    def _row(self, name: str) -> str:
        return f"{name} {self.rows[name]:,}"

    @property
    def _all(self) -> str:
        return _list([self._row(name) for name in self.rows])

    @property
    def _begin(self) -> str:
        return f"before event {self.lives.begin.event:,}, where the history begins"

    @property
    def _plan(self) -> str | None:
        plan = self.history.plan_at(self.moment.first) if self.moment.exact else None
        return None if plan is None else str(plan)

    @property
    def _last(self) -> str:
        """The row that arrived last, if that is known."""
        return self._row(next(name for name, event in self.arrivals.items() if event == self.moment))

    @property
    def _when(self) -> str:
        if self.moment.exact:
            return f" at event {self.moment.first:,}, when {self._last} arrived"
        return f" {self._begin}"

    def _filtered(self, rejected: tuple[str, ...]) -> Explanation:
        sentences, predicates = [], []
        for name in rejected:
            judged = list(self.evidence.objections(name))
            certain = [objection for objection in judged if objection.holds is False]
            arrival = self.arrivals[name]
            text = f"{self._row(name)} was ruled out when it arrived"
            text += f" at event {arrival.first:,}: " if arrival.exact else ": "
            if certain:
                text += "; ".join(objection.how for objection in certain) + "."
            else:
                certain = [objection for objection in judged if objection.holds is None]
                text += ", or ".join(objection.how for objection in certain)
                text += "; its values are not known any more."
            sentences.append(text)
            predicates += [objection.predicate for objection in certain]
        return self._says(FILTERED, " ".join(sentences), rejected, tuple(predicates))

    def _left(self, name: str) -> str:
        """When a row left its window."""
        death = self.deaths[name]
        assert death is not None
        text = f"{self._row(name)} left its window, {self.query.streams[name].window}, "
        if death == self.lives.before:
            return text + self._begin
        if not death.exact:
            return text + f"between events {death.first:,} and {death.last:,}"
        text += f"at event {death.first:,}"
        time = None
        if uses_time(self.query.streams[name].window):
            time = self.lives.time(self.query.names.index(name), self.rows[name])
        if time is None:
            return text
        now = self.history.time(death.first)
        return f"{text} (its time is {self._clock(time)}, the event's {self._clock(now)})"

    def _clock(self, time: int) -> str:
        unit = self.query.time_unit
        if unit is None:
            return f"{time:,}"
        zones = [stream.columns[stream.time].zone for stream in self.query.streams.values() if stream.time]
        return format_instant(time, unit, zones[0])

    def _expiry(self, name: str) -> str:
        death = self.deaths[name]
        if death == self.moment:
            return f"{self._left(name)}, with the arrival of {self._last}."
        before = ", before" if death and death.exact else ";"
        return f"{self._left(name)}{before} {self._last} arrived at event {self.moment.first:,}."

    def _forgotten(self, unknown: list[Judgement], doubtful: tuple[str, ...]) -> Explanation:
        """Rows without values may still be known to have been live together, and the other way round."""
        missing = [name for name in self.rows if any(name in judgement.missing for judgement in unknown)]
        predicates = tuple(dict.fromkeys(judgement.predicate for judgement in unknown))
        text = [f"Whether {self._all} gave a result can no longer be told."]
        text += [f"{self._left(name)}; its values are not known any more." for name in missing]
        if predicates:
            text.append(f"So it is open whether they satisfy {_list(list(predicates))}.")
        if doubtful:
            who = _list([self._row(name) for name in doubtful], "or")
            text.append(
                f"Whether {who} had left its window when the last of the rows arrived is too long ago to say."
            )
        else:
            text.append(f"They were in their windows together{self._when}.")
        streams = tuple(name for name in self.rows if name in missing or name in doubtful)
        return self._says(FORGOTTEN, " ".join(text), streams, predicates)


def _list(words: list[str], word: str = "and") -> str:
    """The words with commas and a last "and"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {word} {words[-1]}"
