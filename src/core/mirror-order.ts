/**
 * Payment order states (specification 3.1) in which nothing is under way: completed, refunded, reversed. The first two are
 * not final: an order may still be refunded, or refunded further.
 */
export const QUIET_STATES = [3, 6, 7] as const

/** Days that have left the window are read again this often, as long as an order of theirs is not final. */
export const READ_AGAIN_AFTER_DAYS = 7

/** Beyond this age an order is not asked for again, final or not. */
export const ORDER_MAX_AGE_DAYS = 180
