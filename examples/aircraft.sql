-- Where an aircraft was, over ground and through the air: its messages of three kinds, at most a quarter of a second apart.
SELECT positions.icao24, positions.ts, positions.latitude, positions.longitude, positions.altitude,
       velocities.groundspeed, velocities.track, airspeeds.IAS, airspeeds.heading
FROM positions, velocities, airspeeds
WHERE velocities.icao24 = positions.icao24 AND airspeeds.icao24 = positions.icao24
  AND velocities.ts BETWEEN positions.ts - INTERVAL '250' MILLISECOND AND positions.ts + INTERVAL '250' MILLISECOND
  AND airspeeds.ts BETWEEN positions.ts - INTERVAL '250' MILLISECOND AND positions.ts + INTERVAL '250' MILLISECOND
  AND positions.altitude > 0
