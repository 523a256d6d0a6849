-- @severity: error
-- @description: Nobody pays a negative amount
-- @remediation: Ask the payment provider to send the payment again
SELECT payment_id, order_id, amount FROM {{ this }} WHERE amount <= 0
