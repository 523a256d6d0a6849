-- @kind: append
SELECT order_id, customer_id, ordered_at, status, is_gift, channel, updated_at
FROM {{ landing_zone('orders') }}
