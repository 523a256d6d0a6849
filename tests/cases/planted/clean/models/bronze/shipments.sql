-- @kind: append
SELECT shipment_id, order_id, carrier, shipped_on, delivered_on, weight_kg
FROM {{ landing_zone('shipments') }}
