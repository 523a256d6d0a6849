-- @kind: append
SELECT book_id, warehouse, counted_on, quantity
FROM {{ landing_zone('stock') }}
