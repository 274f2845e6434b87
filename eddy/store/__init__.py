"""The store: the live rows of each stream.

`Payload` (values, in rings), `StreamState` (payload and leaf STAIRs), `Leaves` (a batch is stored), and row numbers
where rows are ruled out.

May import: values, query, plan, intake.
"""
