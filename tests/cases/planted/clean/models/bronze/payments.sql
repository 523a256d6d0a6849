-- @kind: append
SELECT payment_id, order_id, method, amount_cents, paid_on, refunded
FROM {{ landing_zone('payments') }}
