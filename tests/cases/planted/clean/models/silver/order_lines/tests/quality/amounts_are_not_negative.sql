-- @severity: error
-- @description: A discount is never more than the price
SELECT order_id, line_number, amount
FROM {{ this }}
WHERE amount < 0
