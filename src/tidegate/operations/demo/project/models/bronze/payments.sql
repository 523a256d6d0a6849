-- @merge_strategy: append_only
-- @description: Every payment message, as delivered
SELECT * FROM {{ landing_zone('payments') }}
