-- @kind: delete_insert
-- @unique_key: shipment_id
SELECT
  shipment_id,
  order_id,
  lower(carrier) AS carrier,
  shipped_on,
  delivered_on,
  datediff(delivered_on, shipped_on) AS days_under_way,
  weight_kg
FROM bronze.shipments
