-- @severity: warn
SELECT payment_id, method
FROM {{ this }}
WHERE method NOT IN ('card', 'transfer', 'voucher', 'unknown')
