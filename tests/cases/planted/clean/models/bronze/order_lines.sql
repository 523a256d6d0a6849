-- @kind: append
SELECT order_id, line_number, book_id, quantity, unit_price, discount
FROM {{ landing_zone('order_lines') }}
