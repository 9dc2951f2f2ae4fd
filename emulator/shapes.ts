import { z } from 'zod'

/** Where the specification shows an answer in two shapes, the one that is given; what a seed or reset leaves out is the first. */
export const shapes = z.strictObject({
  /** The result of `enterprise/consume/list` at the top level without an envelope, or under `data`. */
  paymentOrderList: z.enum(['top', 'data']).default('top'),
  /** What `seller/pay/record` gives as `data`: the record, or the trade number alone. */
  orderRecord: z.enum(['object', 'trade_no']).default('object'),
  /** The name of a payment order's asset type. */
  assetCode: z.enum(['assetCode', 'asset_code']).default('assetCode'),
  /** The name of a payment order's business number. */
  tradeNumber: z.enum(['out_trade_no', 'outer_trade_no']).default('out_trade_no'),
})

export type Shapes = z.output<typeof shapes>

export const FIRST_SHAPES: Shapes = shapes.parse({})
