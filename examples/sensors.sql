-- What the radar, the camera and the lidar saw at nearly the same time in nearly the same place: no column is equal.
SELECT radar.id AS radar, lidar.id AS lidar, camera.id AS camera, (radar.x + lidar.x + camera.x) / 3 AS x
FROM radar, lidar, camera
WHERE lidar.ts BETWEEN radar.ts - INTERVAL '100' MILLISECOND AND radar.ts + INTERVAL '100' MILLISECOND
  AND camera.ts BETWEEN radar.ts - INTERVAL '100' MILLISECOND AND radar.ts + INTERVAL '100' MILLISECOND
  AND ABS(lidar.x - radar.x) <= 2 AND ABS(lidar.y - radar.y) <= 2
  AND ABS(camera.x - radar.x) <= 3 AND ABS(camera.y - radar.y) <= 3 AND ABS(camera.x - lidar.x) <= 2
