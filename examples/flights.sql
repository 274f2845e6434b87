-- How late each airline leaves New York in fog: its flights, those that left, the sum of their delays, and the longest.
SELECT flights.carrier, COUNT(*) AS flights, COUNT(flights.dep_delay) AS departed,
       SUM(flights.dep_delay) AS minutes, MAX(flights.dep_delay) AS longest
FROM flights JOIN weather
  ON flights.origin = weather.origin AND flights.ts BETWEEN weather.ts AND weather.ts + INTERVAL '59' MINUTE
WHERE weather.visib < 2
GROUP BY flights.carrier
