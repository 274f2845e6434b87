"""Migration techniques by a simulated clock: the engine does the work, only the time that it takes is made up.

Arrivals come when a seeded Poisson process says so (`feed`), and wait in a queue for one server (`server`). What the
server does is done by an engine, or by black boxes (`subjects`); how long it takes is reckoned from what the engine
says of its work, the evaluations of predicates and the tuples made, at the papers' times Tj and Ts. So a figure is the
same on every machine, and nothing of how a technique behaves is put in: who computes much at the change is silent
for as long, and who runs two plans is busy with both.

`techniques` has what the papers describe and the library does in another way: work in idle time, which the library
does after every batch, and purging by the least and the greatest time of a tuple, where the library is exact.
"""
