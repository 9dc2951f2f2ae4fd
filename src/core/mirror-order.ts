/** Payment order states (specification 3.1) after which dirsync asks no more: completed, refunded, reversed. */
export const FINAL_STATES = [3, 6, 7] as const

/** Beyond this age an order is not asked for again, final or not. */
export const ORDER_MAX_AGE_DAYS = 180
