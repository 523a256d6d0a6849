SELECT DISTINCT carrier
FROM silver.shipments
WHERE carrier IS NOT NULL
