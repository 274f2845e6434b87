-- A purchase belongs to the clicks of the hour before it, and a click to what was shown in the ten minutes before it.
SELECT impressions.campaign, impressions.id AS impression, clicks.id AS click, purchases.id AS purchase, purchases.cents
FROM impressions, clicks, purchases
WHERE clicks.visitor = impressions.visitor AND clicks.campaign = impressions.campaign
  AND clicks.ts BETWEEN impressions.ts AND impressions.ts + INTERVAL '10' MINUTE
  AND purchases.visitor = clicks.visitor
  AND purchases.ts BETWEEN clicks.ts AND clicks.ts + INTERVAL '1' HOUR
