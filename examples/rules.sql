-- large: an order of more than 150.00, and the clicks of the ten minutes before it
SELECT clicks.page, orders.id, orders.cents, orders.ts AS alert
FROM clicks, orders
WHERE clicks.visitor = orders.visitor AND clicks.ts BETWEEN orders.ts - INTERVAL '10' MINUTE AND orders.ts
  AND orders.cents > 15000;

-- regret: who orders, and then looks how to send things back
SELECT clicks.page, orders.id, orders.cents, clicks.ts AS alert
FROM clicks, orders
WHERE clicks.visitor = orders.visitor AND clicks.ts BETWEEN orders.ts AND orders.ts + INTERVAL '30' MINUTE
  AND clicks.page = 'returns';

-- intruder: an order of somebody who looks for a page that there is not
SELECT clicks.visitor, orders.id, orders.ts AS alert
FROM clicks, orders
WHERE clicks.visitor = orders.visitor AND clicks.ts BETWEEN orders.ts - INTERVAL '10' MINUTE AND orders.ts
  AND clicks.page = 'admin';

-- small: an order of less than 1.00
SELECT clicks.page, orders.id, orders.cents, orders.ts AS alert
FROM clicks, orders
WHERE clicks.visitor = orders.visitor AND clicks.ts BETWEEN orders.ts - INTERVAL '10' MINUTE AND orders.ts
  AND orders.cents < 100;

-- campaign: what the campaign brings
SELECT clicks.campaign, orders.id, orders.cents, orders.ts AS alert
FROM clicks, orders
WHERE clicks.visitor = orders.visitor AND clicks.ts BETWEEN orders.ts - INTERVAL '10' MINUTE AND orders.ts
  AND clicks.campaign IN (7, 11);

-- gifts: gifts that go far
SELECT orders.country, orders.id, orders.ts AS alert
FROM clicks, orders
WHERE clicks.visitor = orders.visitor AND clicks.ts BETWEEN orders.ts - INTERVAL '10' MINUTE AND orders.ts
  AND clicks.page = 'gifts' AND orders.country NOT IN ('DE', 'FR');

-- abroad: clicked here, sent there
SELECT clicks.country, orders.country AS sent, orders.id, orders.ts AS alert
FROM clicks, orders
WHERE clicks.visitor = orders.visitor AND clicks.ts BETWEEN orders.ts - INTERVAL '10' MINUTE AND orders.ts
  AND clicks.country <> orders.country;

-- robot: nobody fills in a form in a second
SELECT clicks.visitor, orders.id, orders.ts AS alert
FROM clicks, orders
WHERE clicks.visitor = orders.visitor AND clicks.ts BETWEEN orders.ts - INTERVAL '1' SECOND AND orders.ts
  AND clicks.page = 'form';

-- help: who orders, and then needs help
SELECT clicks.visitor, orders.id, clicks.ts AS alert
FROM clicks, orders
WHERE clicks.visitor = orders.visitor AND clicks.ts BETWEEN orders.ts AND orders.ts + INTERVAL '30' MINUTE
  AND clicks.page = 'help';

-- polish: large orders from Poland
SELECT clicks.page, orders.id, orders.cents, orders.ts AS alert
FROM clicks, orders
WHERE clicks.visitor = orders.visitor AND clicks.ts BETWEEN orders.ts - INTERVAL '10' MINUTE AND orders.ts
  AND orders.country = 'PL' AND orders.cents > 10000;
