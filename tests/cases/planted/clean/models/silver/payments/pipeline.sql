SELECT
  payment_id,
  order_id,
  coalesce(method, 'unknown') AS method,
  {{ euros('amount_cents') }} AS amount,
  paid_on,
  coalesce(refunded, FALSE) AS refunded
FROM bronze.payments
