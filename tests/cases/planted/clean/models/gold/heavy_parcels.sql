SELECT s.shipment_id, s.carrier, round(s.weight_kg, 1) AS weight_kg
FROM silver.shipments AS s
WHERE s.weight_kg > 10
