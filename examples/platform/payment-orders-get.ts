import { connect, enterprise_code } from './connect.ts'

/** One payment order with its goods (4.8). */
await using client = connect()
const trade_no = process.argv[2]
if (trade_no === undefined) throw new Error('usage: payment-orders-get.ts TRADE_NO')
const { total_amount, commerce_order_detail } = await client.paymentOrders.get({ trade_no, enterprise_code })
console.log(total_amount)
for (const order of commerce_order_detail?.order_list ?? [])
  for (const product of order.product_list ?? [])
    console.log(product.product_title, product.purchase_num, product.deal_price)
