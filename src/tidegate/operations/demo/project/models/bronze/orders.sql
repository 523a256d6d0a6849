-- @merge_strategy: append_only
-- @description: Every version of every order, as delivered
SELECT * FROM {{ landing_zone('orders') }}
