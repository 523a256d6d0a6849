-- @kind: merge
-- @unique_key: order_id
-- @watermark_column: updated_at
-- @partitioned_by: months(ordered_at)
SELECT
  order_id,
  customer_id,
  ordered_at,
  to_date(ordered_at) AS ordered_on,
  lower(status) AS status,
  coalesce(is_gift, FALSE) AS is_gift,
  coalesce(channel, 'web') AS channel,
  updated_at
FROM bronze.orders
{% if is_incremental() %}
WHERE updated_at >= TIMESTAMP'{{ watermark_value }}' - INTERVAL 1 DAY
{% endif %}
