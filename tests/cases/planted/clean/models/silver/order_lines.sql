-- @description: Order lines with what they come to, after discount
SELECT
  order_id,
  line_number,
  book_id,
  quantity,
  unit_price,
  coalesce(discount, 0) AS discount,
  CAST(quantity * unit_price * (1 - coalesce(discount, 0)) AS DECIMAL(12, 2)) AS amount
FROM {{ ref('bronze.order_lines') }}
WHERE quantity > 0
