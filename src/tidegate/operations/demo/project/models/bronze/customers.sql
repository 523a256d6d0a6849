-- @merge_strategy: append_only
-- @description: Every version of every customer, as delivered
SELECT * FROM {{ landing_zone('customers') }}
