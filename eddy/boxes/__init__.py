"""Black boxes of a user's own: objects that take batches and give results, replaced by others while they run.

`Boxes` runs one and remembers the rows that it depends on (`History`); a change to another (`BoxChange`) is made by the
techniques that need no more of a plan: `policies.Gms`, `Gpt`, `Ghm`. An `Eddy` is such an object, but nothing here
knows engines.

May import: values, query, intake.
"""
