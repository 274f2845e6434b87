-- Each order with what was paid for it within a quarter of an hour; NULL for one that nobody has paid by then.
SELECT orders.id, orders.cents, payments.id AS payment, payments.cents AS paid, payments.id IS NULL AS alert
FROM orders LEFT JOIN payments
  ON payments.order_id = orders.id AND payments.ts BETWEEN orders.ts AND orders.ts + INTERVAL '15' MINUTE
WHERE orders.cents > 0
