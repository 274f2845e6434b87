"""HybMig (Yang, Kraemer, Papadias, Seeger, TKDE 2007), Figures 15 to 22.

Output, work and memory over time are by the simulated clock (`benchmarks.simulated`); work by parameters is counted, as
in the paper, and measured in processor time beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

from attrs import evolve

from benchmarks.hybmig_workloads import SWEPT, VARIANTS
from benchmarks.papers import hybmig_claims as claims
from benchmarks.papers import hybmig_rows as measured
from benchmarks.papers import hybmig_whys as whys
from benchmarks.papers.code import BOXES, COUNTED, TABLE, TIMED_MIGRATION
from benchmarks.papers.figure import Chart, Claim, Figure, Piece
from benchmarks.papers.hybmig_rows import BYTES, DURATION, EVALUATIONS, SECONDS, TIMED, TUPLES
from benchmarks.papers.judging import claim
from benchmarks.techniques import GHM_AHEAD, HELD, MOVING, TRACKS

BOXED = "median on top"

_TASK = (
    "A clique with one key that all streams share, from the left-deep plan to a {new} one when the rare stream changes "
    "from the first to the last; w 3 minutes, a row a second in each stream and 6 streams unless varied, "
)
_CLOCK = _TASK.format(new="right-deep") + (
    f"nested loops, Poisson arrivals, simulated clock. An evaluation takes {TIMED.costs.join} ms, so that HybMig "
    "keeps up at rates up to 1.3 (in the paper up to 1.6, where rows wait 14 to 40 s here): of the times that were "
    "tried, 0.02 and 0.01 ms are too long for that (with 0.02 Moving State is silent three times as long). "
    f"The key has {TIMED.keys} values in place of 20, which "
    "gives some dozens of results a second, as the paper tells; with 20 there were 20,000. Times count from the "
    "change, before which two windows have gone by, not timed. Means of several feeds."
)
_COUNTS = (
    "Evaluations and tuples in states are counted with nested loops and the paper's selectivities, 0.05 and "
    "0.0025, at the paper's sizes, over 1.2 windows. Processor seconds are the engine's with hash joins, ten "
    "times the rows and 400 keys."
)

QUICK = {"windows": 3, "rates": 2, "streams": 2}
"""Points of Figures 17 to 19 in a quick run: windows up to the default one, and otherwise the two smallest."""


def _figure(
    number: str,
    title: str,
    setup: str,
    source: dict[str, Piece] | Figure,
    told: Sequence[Claim],
    charts: Sequence[Chart],
    simulated: bool = False,
) -> Figure:
    boxed = BOXES if number in ("22", "totals") else ()
    timed = (*COUNTED, TABLE, *boxed) if simulated else (*TIMED_MIGRATION, *boxed, "benchmarks/simulated")
    return Figure(
        name=f"hybmig-{number}",
        paper="HybMig",
        label=f"Figure {number}" if number.isdigit() else "Processor time",
        title=title,
        setup=setup,
        pieces={} if isinstance(source, Figure) else source,
        claims=told,
        charts=charts,
        measures=timed,
        simulated=simulated,
        ours=number == "totals",
        counted=number in ("17", "18", "19", "20", "21"),
        of=source if isinstance(source, Figure) else None,
    )


def _over_time(y: str, title: str, log: Literal["", "y"] = "") -> Chart:
    return Chart("second", y, "technique", log=log, title=f"{title}, by seconds from the change on")


def _swept(number: str, what: str, title: str) -> Figure:
    """Figures 17 to 19: columns for right-deep plans and lines for bushy ones in the paper, charts apart here."""
    x = measured.PARAMETERS[what]
    pieces: dict[str, Piece] = {}
    large: set[str] = set()
    charts = []
    _, points = SWEPT[what]
    for shape in ("right-deep", "bushy"):
        for place, point in enumerate(points):
            setting = evolve(point, shape=shape)
            of_point = {
                f"{shape}, {x} {getattr(setting, x)}, counted": measured.counted,
                f"{shape}, {x} {getattr(setting, x)}, processor time": measured.processed,
            }
            pieces |= {name: partial(piece, what=what, setting=setting) for name, piece in of_point.items()}
            if place >= QUICK[what]:
                large |= of_point.keys()
        for measure in (TUPLES, EVALUATIONS, SECONDS):
            where = {"shape": shape, "measure": measure}
            charts.append(Chart(x, "value", "technique", log="y", where=where, title=f"{measure}, {shape}"))
    told = [
        claim(
            f"HybMig is lowest under all settings: {measure}",
            partial(claims.lowest, x=x, measure=measure),
            why,
        )
        for measure, why in (
            (EVALUATIONS, whys.OWN_KEYS),
            (TUPLES, whys.BOTH_PLANS),
            (SECONDS, whys.SMALL_BATCHES),
            (BYTES, whys.BYTES_TOO),
        )
    ]
    setup = f"{_TASK.format(new='right-deep or bushy')}varied: {what}. {_COUNTS}"
    return evolve(_figure(number, title, setup, pieces, told, charts), large=frozenset(large))


_FIGURE_15 = _figure(
    "15",
    "Output rate over time",
    _CLOCK,
    {"all": measured.over_time},
    [
        claim("Moving State gives nothing for about 50 s", claims.silent, why=whys.NOT_SILENT_AS_LONG),
        claim("Then its output soars, far above that of HybMig", claims.soars, why=whys.FEW_TO_CATCH_UP),
        claim(
            "Parallel Track's output decreases to nothing at w; then the buffer comes at once",
            claims.decays,
        ),
        claim("With HybMig no result is delayed by more than 1 s", claims.prompt),
    ],
    [
        _over_time("results a second", "Results a second"),
        _over_time("results so far", "Results so far"),
    ],
    simulated=True,
)

FIGURES: Sequence[Figure] = (
    _FIGURE_15,
    _figure(
        "16",
        "Memory and work over time",
        _CLOCK,
        _FIGURE_15,
        [
            claim(
                "Moving State's memory drops before its work does, which goes on with what has waited",
                claims.saturated,
            ),
            claim("Parallel Track's work rises until w, and then drops", claims.rises),
            claim("HybMig's drops at w, too", claims.drops),
            claim(
                "HybMig works less than Parallel Track at every instant",
                partial(claims.below, y="evaluations a second"),
                why=whys.EARLY,
            ),
            claim(
                "It holds fewer tuples at every instant", partial(claims.below, y="tuples"), why=whys.EARLY
            ),
        ],
        [
            _over_time("tuples", "Composites in states", log="y"),
            _over_time("evaluations a second", "Evaluations a second", log="y"),
            _over_time("queue", "Rows that wait"),
        ],
        simulated=True,
    ),
    _swept("17", "windows", "Memory and work, by window"),
    _swept("18", "rates", "Memory and work, by rate"),
    _swept("19", "streams", "Memory and work, by number of streams"),
    _figure(
        "20",
        "What sharing subqueries saves",
        f"{_TASK.format(new='bushy')}the new plan being the old one, but the last two streams joined first. {_COUNTS}",
        {"counted": measured.sharing_counted, "processor time": measured.sharing_processed},
        [
            claim(
                "Sharing saves evaluations, up to a factor of 2",
                partial(claims.saves, measure=EVALUATIONS),
                why=whys.TOP_JOIN,
            ),
            claim(
                "It saves processor time, up to a factor of 2",
                partial(claims.saves, measure=SECONDS),
                why=whys.TOP_JOIN,
            ),
        ],
        [
            Chart("n", "value", "technique", "bar", "y", {"measure": measure}, measure)
            for measure in (EVALUATIONS, SECONDS)
        ],
    ),
    _figure(
        "21",
        "Background computation, by rate",
        f"{_CLOCK} Background computation goes on in idle time, a key at a time, and arrivals interrupt it. Processor "
        "seconds are the engine's, which computes 16 keys after every batch.",
        {
            **{f"rate {rate}": partial(measured.background_timed, rates=(rate,)) for rate in measured.RATES},
            "processor time": measured.background_processed,
        },
        [
            claim("With BSC the duration is negligible at 0.4 and 0.7", claims.soon_over),
            claim("BSC helps less at higher rates", claims.less_and_less),
            claim(
                "Moving State is the shortest up to 1, and the longest at 1.6 (5 w)",
                claims.moving_at_first,
                why=whys.FASTER,
            ),
            claim(
                "Parallel Track takes w, and longer at 1.6, where it is overloaded",
                claims.tracks_take_the_window,
            ),
            claim(
                "HybMig without BSC takes w at all rates",
                claims.hybrid_takes_the_window,
                why="at 1.6 it does not quite keep up: in five feeds rows wait for up to 14 to 40 s, and the last old "
                "ones leave so much later",
            ),
            claim(
                "With BSC it evaluates less than Moving State and Parallel Track",
                partial(claims.cheaper_with_background, measure=EVALUATIONS),
                why=whys.ALL_COMPUTED,
            ),
        ],
        [
            Chart("rate", "value", "technique", "bar", "y", {"measure": DURATION}, DURATION),
            Chart("rate", "value", "technique", "line", "y", {"measure": EVALUATIONS}, EVALUATIONS),
            Chart("rate", "value", "technique", "line", "y", {"measure": SECONDS}, SECONDS),
        ],
    ),
    _figure(
        "22",
        "Black boxes with a median on top",
        f"{_CLOCK} The median is of the results of the "
        "last w, so "
        "rows count for two windows: GMS and GHM replay 2 w, and GPT takes 2 w. GHM's new plan works in idle time.",
        {"all": measured.boxes_over_time},
        [
            claim("GPT and GHM give steady output, alike", claims.boxes_steady),
            claim("GMS suspends the output during the migration", claims.boxes_suspended),
            claim("GMS and GHM take much less time than GPT", claims.boxes_end),
            claim("GMS and GHM work about as much", claims.boxes_cost),
        ],
        [
            _over_time("results a second", "Medians a second"),
            _over_time("results so far", "Medians so far"),
            _over_time("evaluations a second", "Evaluations a second", log="y"),
        ],
        simulated=True,
    ),
    _figure(
        "totals",
        "Every technique at the default setting",
        f"{_TASK.format(new='right-deep')}in processor time, over 1.2 windows (2.4 with the median on top), each "
        "technique "
        "timed by turns with all others. " + _COUNTS,
        {
            **{variant: partial(measured.totals, variant=variant) for variant in VARIANTS},
            BOXED: measured.box_totals,
        },
        [
            *(
                claim(
                    f"{variant}: Moving State and Parallel Track take more than HybMig",
                    partial(claims.most_work, others=(MOVING, TRACKS, HELD), variant=variant),
                    why=whys.OWN_KEYS,
                )
                for variant in VARIANTS
            ),
            claim(
                f"{BOXED}: GHM is done in a quarter of GPT's time, if it catches up eight rows for each that comes",
                partial(claims.soon_done, name=GHM_AHEAD, reference="Gpt", variant=BOXED),
            ),
            claim(
                f"{BOXED}: it pauses for less than a tenth of GMS's pause",
                partial(claims.hardly_paused, name=GHM_AHEAD, reference="Gms", variant=BOXED),
                why="why is not known: eight batches are caught up beside each, so that one should take nine times "
                "as long (in a quick run, with windows of a minute, GMS's own pause is short)",
            ),
        ],
        [Chart("technique", SECONDS, "variant", "bar", title="Processor seconds from the change on")],
    ),
)
