-- @kind: append
-- @description: Customers as the shop exports them, every change
SELECT customer_id, first_name, last_name, email, country, birth_date, newsletter, updated_at
FROM {{ landing_zone('customers') }}
