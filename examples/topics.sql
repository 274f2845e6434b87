-- Each payment with its order, if it came within a quarter of an hour.
SELECT orders.id AS id, orders.customer, payments.cents, payments.ts AS paid
FROM orders, payments
WHERE payments.order_id = orders.id AND payments.ts BETWEEN orders.ts AND orders.ts + INTERVAL '15' MINUTE
