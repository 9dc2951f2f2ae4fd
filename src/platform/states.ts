/** Codes and states of sections 2 and 3, with their meanings. Answers keep values that are in none of these tables. */

/** A value of the platform and what it means. */
export interface State<Value extends number | string = number | string> {
  readonly value: Value
  readonly meaning: string
}

/** The values of one field, each under a name. */
export type States = Readonly<Record<string, State>>

/** What a field's value means; undefined for one that the specification does not know. */
export function meaningOf(states: States, value: number | string | null | undefined): string | undefined {
  return Object.values(states).find(state => state.value === value)?.meaning
}

/** `status` of a payment order (section 3.1). */
export const PAYMENT_ORDER_STATUS = {
  PENDING_PAYMENT: { value: 1, meaning: 'pending payment' },
  PAYING: { value: 2, meaning: 'paying' },
  COMPLETED: { value: 3, meaning: 'payment completed' },
  PENDING_REFUND: { value: 4, meaning: 'pending refund' },
  REFUNDING: { value: 5, meaning: 'refunding' },
  REFUNDED: { value: 6, meaning: 'refunded' },
  REVERSED: { value: 7, meaning: 'reversed' },
} as const satisfies States

/** `assetCode` of a payment order (section 2.6). */
export const ASSET_CODE = {
  POINT: { value: 'POINT', meaning: 'points' },
  QUOTA: { value: 'QUOTA', meaning: 'quota' },
  CASH: { value: 'CASH', meaning: 'cash' },
  THIRD: { value: 'THIRD', meaning: 'third-party asset' },
} as const satisfies States

/** `contain_fee_trade` of the payment order list (section 4.7). */
export const CONTAIN_FEE_TRADE = {
  INCLUDE: { value: 1, meaning: 'include service-fee records' },
  EXCLUDE: { value: 2, meaning: 'exclude service-fee records' },
} as const satisfies States

/** `activity_type` of an e-commerce order (section 2.6). */
export const ACTIVITY_TYPE = {
  NORMAL: { value: 1, meaning: 'normal order' },
  GROUP_BUY: { value: 2, meaning: 'group-buy order' },
} as const satisfies States

/** `trade_type` of an e-commerce order (section 2.6). */
export const TRADE_TYPE = {
  EXCHANGE: { value: 1, meaning: 'exchange' },
  CONSUMPTION: { value: 2, meaning: 'consumption' },
} as const satisfies States

/** `trade_status` of an e-commerce order and of its items (section 3.2). */
export const TRADE_STATUS = {
  WAITING_FOR_PAYMENT: { value: 1, meaning: 'waiting for buyer payment' },
  PAID: { value: 2, meaning: 'buyer paid' },
  STOCKED: { value: 3, meaning: 'merchant has stocked' },
  SHIPPED: { value: 4, meaning: 'merchant has shipped' },
  SUCCEEDED: { value: 5, meaning: 'buyer received (trade succeeded)' },
  CLOSED: { value: 6, meaning: 'order cancelled (trade closed)' },
} as const satisfies States

/** `order_status` of an e-commerce order's item (section 3.2). */
export const ORDER_STATUS = {
  WAITING_FOR_PAYMENT: { value: 1, meaning: 'waiting for buyer payment' },
  PAID: { value: 2, meaning: 'paid, awaiting stocking' },
  PAID_PARTIAL_REFUND: { value: 3, meaning: 'paid, awaiting stocking, partial refund in progress' },
  STOCKED: { value: 4, meaning: 'stocked, awaiting shipment' },
  STOCKED_PARTIAL_REFUND: { value: 5, meaning: 'stocked, awaiting shipment, partial refund in progress' },
  STOCKED_REFUND: { value: 6, meaning: 'stocked, awaiting shipment, refund in progress' },
  SHIPPED: { value: 7, meaning: 'shipped, awaiting receipt' },
  SHIPPED_PARTIAL_REFUND: { value: 8, meaning: 'shipped, awaiting receipt, partial refund in progress' },
  SHIPPED_REFUND: { value: 9, meaning: 'shipped, awaiting receipt, refund in progress' },
  SUCCEEDED: { value: 10, meaning: 'trade succeeded' },
  CANCELLED_BY_BUYER: { value: 11, meaning: 'closed, cancelled by buyer' },
  CANCELLED_BY_SERVICE: { value: 12, meaning: 'closed, cancelled by customer service' },
  TIMED_OUT: { value: 13, meaning: 'closed, cancelled by timeout' },
  REFUNDED: { value: 14, meaning: 'closed, refund succeeded' },
} as const satisfies States

/** `product_category` of a limit account (section 2.7); others occur. */
export const PRODUCT_CATEGORY = {
  WELFARE: { value: 1, meaning: 'welfare quota' },
  LUNCH: { value: 2, meaning: 'staff lunch' },
  CAR: { value: 3, meaning: 'staff car use' },
  COMMUNICATION: { value: 4, meaning: 'staff communication' },
  CARE: { value: 12, meaning: 'care quota' },
} as const satisfies States

/** `status` of a limit account and of its sub-accounts (section 3.3). */
export const ACCOUNT_STATUS = {
  VALID: { value: 1, meaning: 'valid' },
  INVALID: { value: 2, meaning: 'invalid' },
} as const satisfies States

/** `status` of a merchant's order record (section 3.3). */
export const ORDER_RECORD_STATUS = {
  NOT_REFUNDED: { value: 1, meaning: 'order succeeded, no refund' },
  REFUNDED: { value: 2, meaning: 'order succeeded, with refund' },
} as const satisfies States

/** `taxpayer_nature` (section 2.11). */
export const TAXPAYER_NATURE = {
  GENERAL: { value: 1, meaning: 'general taxpayer' },
  SMALL_SCALE: { value: 2, meaning: 'small-scale taxpayer' },
} as const satisfies States

/** `status` of a taxpayer (section 3.3). */
export const TAXPAYER_STATUS = {
  NORMAL: { value: 1, meaning: 'normal' },
  DISABLED: { value: 2, meaning: 'disabled' },
} as const satisfies States

/** `third_type` of employee operations (section 2.3). */
export const THIRD_TYPE = {
  PLATFORM_1: { value: 1, meaning: 'first third-party collaboration platform' },
  PLATFORM_2: { value: 2, meaning: 'second third-party collaboration platform' },
  PLATFORM_3: { value: 3, meaning: 'third third-party collaboration platform' },
  CUSTOM: { value: 4, meaning: 'custom' },
  STANDARD: { value: 5, meaning: 'standard integration' },
} as const satisfies States

/** `gender` of an employee (section 2.3). */
export const GENDER = {
  MALE: { value: 1, meaning: 'male' },
  FEMALE: { value: 2, meaning: 'female' },
  UNKNOWN: { value: 3, meaning: 'unknown' },
} as const satisfies States

/** `card_type` of an employee (section 2.3). */
export const CARD_TYPE = {
  IDENTITY_CARD: { value: 1, meaning: 'identity card' },
  PASSPORT: { value: 2, meaning: 'passport' },
} as const satisfies States

/** `isThirdOrders` of a refund's `tradeInfo` (section 2.9). */
export const SUB_ORDERS = {
  SOME: { value: 1, meaning: 'has sub-orders' },
  NONE: { value: 2, meaning: 'no sub-orders' },
} as const satisfies States

/** `invoiceType` of goods in a refund (section 2.9). */
export const INVOICE_TYPE = {
  ORDINARY: { value: 1, meaning: 'ordinary invoice' },
  SPECIAL: { value: 2, meaning: 'special invoice' },
} as const satisfies States

/** `service_provider` of a top-up application (section 4.12); others may exist. */
export const SERVICE_PROVIDER = {
  DEFAULT: { value: 0, meaning: 'default provider' },
  BANK_TRANSFER: { value: 1, meaning: 'bank transfer' },
} as const satisfies States
