-- @severity: warn
-- @remediation: wait for the next export of the orders
SELECT l.order_id, l.line_number
FROM {{ this }} AS l
LEFT ANTI JOIN silver.orders AS o ON o.order_id = l.order_id
